/**
 * The options that shape a run, shared by `orchestrate` and `swarm`, and the way from them to a resolved configuration.
 *
 * Owns: the flags with a name of their own and `--set path=value` for every other knob. Order of precedence: flag, file, size.
 */

import type { RunConfig } from "../core/config/config.ts";
import { sizeNames } from "../core/config/size.ts";
import type { KnobPath, KnobValue } from "../core/config/knob.ts";
import type { Origins, Problem, ResolveInput } from "../core/config/parse.ts";
import type { CommandContext, OptionSpec } from "./command.ts";
import type { ConfigFile } from "./config_file.ts";
import { UsageError, UserError } from "./errors.ts";

export const sizeOption: OptionSpec = {
  name: "size",
  kind: "string",
  placeholder: "NAME",
  defaultText: "tiny",
  suggestions: sizeNames,
  doc: `the size dial: ${sizeNames.join(", ")}`,
};

export const runOptions: readonly OptionSpec[] = [
  sizeOption,
  { name: "stages", kind: "int", placeholder: "K", min: 1, defaultText: "from --size", doc: "pipeline stages" },
  {
    name: "replicas",
    kind: "int",
    placeholder: "N",
    min: 1,
    defaultText: "1",
    doc: "miners a stage before the first step",
  },
  { name: "validators", kind: "int", placeholder: "N", min: 0, defaultText: "1", doc: "validators that are expected" },
  {
    name: "steps",
    kind: "int",
    placeholder: "N",
    min: 1,
    defaultText: "from --size",
    doc: "optimizer steps of the whole run",
  },
  {
    name: "seed",
    kind: "int",
    placeholder: "N",
    min: 0,
    max: 0xffff_ffff,
    defaultText: "1",
    doc: "seed of parameters, data order and wiring",
  },
  {
    name: "codec",
    kind: "choice",
    placeholder: "NAME",
    choices: ["iota", "none"],
    defaultText: "from --size",
    doc: "what crosses a stage boundary",
  },
  {
    name: "corpus",
    kind: "string",
    placeholder: "NAME",
    defaultText: "sotu",
    doc: "the text: sotu, or the path of a text file",
  },
  { name: "deterministic", kind: "boolean", doc: "fixed wiring and order: equal seeds give equal parameter hashes" },
  { name: "set", kind: "string", placeholder: "PATH=VALUE,…", doc: "set any other knob, e.g. train.learningRate=1e-3" },
  { name: "resume", kind: "boolean", doc: "only go on with the run in the data folder: refuse to begin one" },
  { name: "fresh", kind: "boolean", doc: "delete the run that lies in the data folder and begin anew" },
];

/** Flags with a name of their own, by the knob they set. */
export const flagPaths: Readonly<Record<string, KnobPath>> = {
  stages: "pipeline.stages",
  replicas: "swarm.replicas",
  validators: "swarm.validators",
  steps: "train.steps",
  seed: "seed",
  codec: "pipeline.codec",
  corpus: "data.corpus",
};

export interface ResolvedRun {
  readonly config: RunConfig;
  readonly origins: Origins;
}

/** What the person set on the command line, by knob. */
export async function overridesOf(context: CommandContext): Promise<Record<string, KnobValue>> {
  const { options } = context;
  const overrides: Record<string, KnobValue> = {};
  for (const [name, path] of Object.entries(flagPaths)) {
    const value = name === "codec" || name === "corpus" ? options.text(name) : options.number(name);
    if (value !== undefined) overrides[path] = value;
  }
  if (options.flag("deterministic")) overrides["deterministic"] = true;
  const text = options.text("set");
  if (text === undefined) return overrides;
  const { valueFromText } = await import("../core/config/parse.ts");
  for (const entry of text.split(",")) {
    const at = entry.indexOf("=");
    if (at <= 0) {
      throw new UsageError(`Cannot use --set as each entry must be PATH=VALUE: current value is '${entry}'`, {
        next: "For example: --set train.learningRate=1e-3,outer.momentum=0.5",
      });
    }
    const path = entry.slice(0, at).trim();
    overrides[path] = valueFromText({ path, text: entry.slice(at + 1).trim() });
  }
  return overrides;
}

export interface GivenRun {
  readonly file: ConfigFile | null;
  readonly input: ResolveInput;
}

/** What the file of --config and the command line say of a run. */
export async function givenRun(context: CommandContext): Promise<GivenRun> {
  const path = context.options.text("config");
  const file = path === undefined ? null : await (await import("./config_file.ts")).readConfigFile(path);
  const size = context.options.text("size");
  const overrides = await overridesOf(context);
  return {
    file,
    input: { overrides, ...(size === undefined ? {} : { size }), ...(file === null ? {} : { file: file.table }) },
  };
}

/** The configuration of a new run; every wrong field is named with its place. */
export async function resolveRun(context: CommandContext, given?: GivenRun): Promise<ResolvedRun> {
  const { file, input } = given ?? await givenRun(context);
  const resolved = (await import("../core/config/parse.ts")).resolveConfig(input);
  if (resolved.ok) return resolved;
  throw await settingsError(resolved.problems, { file });
}

/** Every problem with its place; exit code 2 where all of them were typed. */
export async function settingsError(
  problems: readonly Problem[],
  { file, next }: { file: ConfigFile | null; next?: string },
): Promise<UserError> {
  const text = (await import("./config_file.ts")).placeProblems({ problems, file }).join("\n");
  return problems.every(({ origin }) => origin !== "file")
    ? new UsageError(text, {
      next: next ?? "See every knob with its default and limits: iota help orchestrate, and README.md",
    })
    : new UserError(text, { next: next ?? `Correct ${file?.path ?? "the configuration"} and start again` });
}

/** The given run options as words for a child process; the parent has dealt with --fresh and --resume. */
export function runWords({ options }: CommandContext): string[] {
  const words: string[] = [];
  for (const { name, kind } of [...runOptions, { name: "config", kind: "string" as const }]) {
    if (!options.given(name) || name === "fresh" || name === "resume") continue;
    if (kind === "boolean") words.push(`--${name}`);
    else words.push(`--${name}`, String(kind === "int" ? options.number(name) : options.text(name)));
  }
  return words;
}
