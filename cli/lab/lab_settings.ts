/** The settings of an experiment's runs: its own, those of the row, and what was typed. */

import type { RunConfig } from "../../core/config/config.ts";
import { resolveConfig, type ResolveInput } from "../../core/config/parse.ts";
import { UsageError } from "../output/errors.ts";
import type { Experiment, Row, Settings } from "./experiments.ts";

/** Nobody is slow here: deadlines must not pass while the one device computes for others. */
export const patience = { "limits.leaseMs": 3_600_000, "limits.mergePhaseMs": 3_600_000 };

/** Later settings win; what was typed wins over the experiment's, except the seed. */
export function configOf(
  { settings: common }: Pick<Experiment, "settings">,
  own: Row,
  { input, fixed }: GivenSettings,
): RunConfig {
  const { overrides, ...given } = input;
  const of = (settings: Settings) =>
    resolveConfig({ ...given, overrides: { "swarm.validators": 0, ...common, ...settings, ...overrides, ...fixed } });
  const plain = of({});
  const resolved = plain.ok ? of(own.settings(plain.config.model.width)) : plain;
  if (resolved.ok) return resolved.config;
  throw new UsageError(resolved.problems.map(({ text }) => text).join("\n"), {
    next: "See every setting with its value and meaning: iota config show",
  });
}

export interface GivenSettings {
  readonly input: ResolveInput;
  readonly fixed: Settings;
}
