/** The settings of a lab's runs: what all have in common, their own, and what was typed. */

import type { RunConfig } from "../../../core/config/config.ts";
import { resolveConfig, type ResolvedConfig, type ResolveInput } from "../../../core/settings/parse.ts";
import { UsageError } from "../../../cli/program/errors.ts";
import type { KnobPath, KnobValue } from "../../../core/config/knob.ts";

export type Settings = Readonly<Partial<Record<KnobPath, KnobValue>>>;

/** Nobody is slow here: deadlines must not pass while the one device computes for others. */
export const patience = { "limits.leaseMs": 3_600_000, "limits.mergePhaseMs": 3_600_000 };

/**
 * Later settings win: common ones, own ones, those that were typed, fixed ones. Own ones cannot be typed: rows are named by them. A
 * round that the lab sets is no longer than the run; one that was typed is refused if it is.
 */
export function configOf(
  { common, own = () => ({}), input, fixed }: GivenSettings,
): RunConfig {
  const { overrides, ...given } = input;
  const resolve = (settings: Settings) =>
    resolveConfig({ ...given, overrides: { "swarm.validators": 0, ...settings, ...overrides, ...fixed } });
  const of = (own: Settings): ResolvedConfig => {
    const settings = { ...common, ...own };
    const stepsPerRound = settings["train.stepsPerRound"];
    const shortest = resolve({ ...settings, ...(stepsPerRound === undefined ? {} : { "train.stepsPerRound": 1 }) });
    if (typeof stepsPerRound !== "number" || !shortest.ok) return shortest;
    return resolve({ ...settings, "train.stepsPerRound": Math.min(stepsPerRound, shortest.config.train.steps) });
  };
  const plain = of({});
  const settings = plain.ok ? own(plain.config.model.width) : {};
  refuseClash(settings, overrides ?? {});
  const resolved = plain.ok ? of(settings) : plain;
  if (resolved.ok) return resolved.config;
  throw new UsageError(resolved.problems.map(({ text }) => text).join("\n"), {
    next: "See every setting with its value and meaning: iota config show",
  });
}

export interface GivenSettings {
  readonly common: Settings;
  readonly own?: (width: number) => Settings; // of a model of this width
  readonly input: ResolveInput;
  readonly fixed: Settings;
}

function refuseClash(own: Settings, typed: Readonly<Record<string, unknown>>): void {
  const clash = Object.keys(typed).find((path) =>
    path in own || (path === "pipeline.boundaries" && "pipeline.codec" in own)
  );
  if (clash === undefined) return;
  throw new UsageError(
    `Cannot set ${clash} to ${String(typed[clash])}: rows of this experiment differ in it`,
    { next: "Leave it out, or choose other rows with --rows" },
  );
}
