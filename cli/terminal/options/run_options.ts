/** The options that shape a run: flags, and `--set path=value` for every other knob. Precedence: flag, file, size. */

import type { RunConfig } from "../../../core/config/config.ts";
import { knobAt } from "../../../core/config/knobs.ts";
import { sizeNames } from "../../../core/config/size.ts";
import { codecNames } from "../../../core/codec/codec_names.ts";
import type { KnobPath, KnobValue } from "../../../core/config/knob.ts";
import { payloadCodecNames } from "../../../core/config/payload_codec_names.ts";
import type { Origins, Problem, ResolveInput } from "../../../core/settings/parse.ts";
import type { CommandContext, OptionSpec, OptionValues } from "../command.ts";
import { datasetNamed, type Environment, expandHome } from "../../program/paths.ts";
import type { ConfigFile } from "./config_file.ts";
import { UsageError, UserError } from "../../program/errors.ts";
import { hubOptions, hubTable, settingName } from "./hub_options.ts";

function defaultOf(path: KnobPath): string {
  return String(knobAt(path).default);
}

export const sizeOption: OptionSpec = {
  name: "size",
  kind: "string",
  placeholder: "NAME",
  defaultText: "tiny",
  suggestions: sizeNames,
  doc: `how large the model is: ${sizeNames.join(", ")}; every other setting follows from it`,
};

export const runOptions: readonly OptionSpec[] = [
  sizeOption,
  {
    name: "stages",
    kind: "int",
    placeholder: "K",
    min: 1,
    defaultText: "from --size",
    doc: "how many parts the model is cut into; a miner holds one",
  },
  {
    name: "replicas",
    kind: "int",
    placeholder: "N",
    min: 1,
    defaultText: defaultOf("swarm.replicas"),
    doc: "how many miners of each stage the first step waits for",
  },
  {
    name: "validators",
    kind: "int",
    placeholder: "N",
    min: 0,
    defaultText: defaultOf("swarm.validators"),
    doc: "how many validators the run has; a swarm starts as many",
  },
  {
    name: "steps",
    kind: "int",
    placeholder: "N",
    min: 1,
    defaultText: "from --size",
    doc: "optimizer steps in the whole run",
  },
  {
    name: "seed",
    kind: "int",
    placeholder: "N",
    min: 0,
    max: 0xffff_ffff,
    defaultText: defaultOf("seed"),
    doc: "seed of parameters, data order and wiring",
  },
  {
    name: "codec",
    kind: "choice",
    placeholder: "NAME",
    choices: codecNames,
    defaultText: "from --size",
    doc: "what stages send each other: a few values per token in 16 bits (iota, resbm) or in 4, 5 or 6, or all of them",
  },
  {
    name: "merge",
    kind: "choice",
    placeholder: "NAME",
    choices: payloadCodecNames,
    defaultText: "from --size",
    doc: "what miners send to merge: every value in 4, 2 or 1 bytes, or the signs of the largest",
  },
  {
    name: "corpus",
    kind: "string",
    placeholder: "NAME",
    defaultText: defaultOf("data.corpus"),
    doc: "the training text: sotu (State of the Union addresses), or a file or folder of texts",
  },
  {
    name: "data-set",
    kind: "string",
    placeholder: "NAME",
    doc: "train on a dataset from iota data prepare: its folder, or its name in your data folder",
  },
  {
    name: "prompt",
    kind: "string",
    placeholder: "TEXT",
    defaultText: defaultOf("sample.prompt"),
    doc: "how samples of the model's text begin, during the run and at a swarm's end",
  },
  { name: "deterministic", kind: "boolean", doc: "fixed wiring and order: equal seeds give equal parameter hashes" },
  {
    name: "set",
    kind: "string",
    placeholder: "PATH=VALUE,…",
    doc: "set any other setting, e.g. train.learningRate=1e-3; iota config show lists all",
  },
  { name: "resume", kind: "boolean", doc: "only resume the run in the data folder; refuse to begin one" },
  { name: "fresh", kind: "boolean", doc: "put the run in the data folder aside and start over" },
];

/** Of commands that begin runs. */
export const fromOption: OptionSpec = {
  name: "from",
  kind: "string",
  placeholder: "DIR",
  defaultText: "random parameters",
  doc: "begin with a model's parameters, tokenizer and shape: a run, a checkpoint, an export or a Hugging Face Llama",
};

type Table = Readonly<Record<string, unknown>>;

const corpusPath = "data.corpus";

export const flagPaths: Readonly<Record<string, KnobPath>> = {
  stages: "pipeline.stages",
  replicas: "swarm.replicas",
  validators: "swarm.validators",
  steps: "train.steps",
  seed: "seed",
  codec: "pipeline.codec",
  merge: "outer.payload",
  corpus: corpusPath,
  prompt: "sample.prompt",
};

const textFlags: ReadonlySet<string> = new Set(["codec", "merge", "corpus", "prompt"]);

interface ResolvedRun {
  readonly config: RunConfig;
  readonly origins: Origins;
}

export async function overridesOf(
  { options, environment }: Pick<CommandContext, "options" | "environment">,
): Promise<Record<string, KnobValue>> {
  if (options.given("corpus") && options.given("data-set")) {
    throw new UsageError("--corpus and --data-set both name what to train on", { next: "Leave one of them out" });
  }
  const overrides: Record<string, KnobValue> = {};
  for (const [name, path] of Object.entries(flagPaths)) {
    if (!options.given(name)) continue; // a command need not have all of them
    const isText = textFlags.has(name);
    const value = isText ? options.text(name) : options.number(name);
    if (value !== undefined) overrides[path] = value;
  }
  const dataset = options.given("data-set") ? options.text("data-set") : undefined;
  if (dataset !== undefined) overrides[corpusPath] = datasetNamed(environment, dataset);
  if (options.flag("deterministic")) overrides["deterministic"] = true;
  const text = options.text("set");
  if (text === undefined) return overrides;
  const { valueFromText } = await import("../../../core/settings/parse.ts");
  const set = new Map<string, KnobValue>();
  for (const entry of text.split(/,(?=\s*[A-Za-z])/)) { // a value may have commas before numbers: boundaries
    const at = entry.indexOf("=");
    if (at <= 0) {
      throw new UsageError(`Each entry of --set must be PATH=VALUE, but one is '${entry}'`, {
        next: "For example: --set train.learningRate=1e-3,outer.momentum=0.5",
      });
    }
    const path = entry.slice(0, at).trim();
    const option = hubOptions.find((spec) => path === `${hubTable}.${settingName(spec)}`);
    if (option !== undefined) {
      throw new UsageError(`Cannot use --set '${entry}': ${path} has its own option`, {
        next: `Pass it to iota orchestrate: --${option.name}${
          option.kind === "boolean" ? "" : ` ${option.placeholder}`
        }`,
      });
    }
    const read = valueFromText({ path, text: entry.slice(at + 1).trim() });
    const value = path === corpusPath && typeof read === "string" ? expandHome(read, environment) : read;
    mustBeSame(path, { value, before: set.get(path) });
    set.set(path, value);
    const ownOption = givenOption(options, path);
    if (ownOption !== undefined) {
      mustAgree({ path, value, ownOption, other: (path === "size" ? options.text("size") : overrides[path])! });
    }
    overrides[path] = value;
  }
  return overrides;
}

export function givenOption(options: OptionValues, path: string): string | undefined {
  const paths = { ...flagPaths, "data-set": corpusPath, size: "size", deterministic: "deterministic" };
  return Object.entries(paths).find(([name, ofName]) => ofName === path && options.given(name))?.[0];
}

function mustBeSame(path: string, { value, before }: { value: KnobValue; before: KnobValue | undefined }): void {
  if (before === undefined || before === value) return;
  throw new UsageError(
    `--set gives ${path} twice with different values: '${before}' and '${value}'`,
    { next: "Leave one of them out" },
  );
}

function mustAgree(
  { path, value, ownOption, other }: { path: string; value: KnobValue; ownOption: string; other: KnobValue },
): void {
  if (value === other) return;
  throw new UsageError(
    `--${ownOption} and --set ${path} give one setting different values: '${other}' and '${value}'`,
    { next: "Leave one of them out" },
  );
}

/** The run's text; null: the built-in one, or a value that cannot be a path. */
export async function corpusFile(
  context: CommandContext,
  table: Table,
): Promise<string | null> {
  const typed = (await overridesOf(context))[corpusPath];
  return typed === undefined ? corpusOf(expandCorpus(table, context.environment)) : textFile(typed);
}

export function corpusOf({ data }: Table): string | null {
  return textFile(typeof data === "object" && data !== null && "corpus" in data ? data.corpus : undefined);
}

export function expandCorpus(table: Table, environment: Environment): Table {
  const { data } = table;
  if (typeof data !== "object" || data === null || !("corpus" in data) || typeof data.corpus !== "string") return table;
  return { ...table, data: { ...data, corpus: expandHome(data.corpus, environment) } };
}

function textFile(name: unknown): string | null {
  return typeof name === "string" && name !== "sotu" && name !== "" ? name : null;
}

export interface GivenRun {
  readonly file: ConfigFile | null;
  readonly input: ResolveInput;
}

export async function givenRun(context: CommandContext): Promise<GivenRun> {
  const { hubProblems, readRunFile, runPart } = await import("./run_file.ts");
  const file = await readRunFile(context.options.text("config"));
  const problems = file === null ? [] : hubProblems(file.table);
  if (problems.length > 0) throw await settingsError(problems, { file });
  const size = context.options.text("size");
  const overrides = await overridesOf(context);
  return {
    file,
    input: {
      overrides,
      ...(size === undefined ? {} : { size }),
      ...(file === null ? {} : { file: expandCorpus(runPart(file.table), context.environment) }),
    },
  };
}

export async function resolveRun(context: CommandContext, given?: GivenRun): Promise<ResolvedRun> {
  const { file, input } = given ?? await givenRun(context);
  const resolved = (await import("../../../core/settings/parse.ts")).resolveConfig(input);
  if (resolved.ok) return resolved;
  throw await settingsError(resolved.problems, { file });
}

/** Exit code 2 if all problems were typed. */
export async function settingsError(
  problems: readonly Problem[],
  { file, next }: { file: ConfigFile | null; next?: string },
): Promise<UserError> {
  const text = (await import("./config_file.ts")).placeProblems({ problems, file }).join("\n");
  return problems.every(({ origin }) => origin !== "file")
    ? new UsageError(text, { next: next ?? "See every setting with its value and meaning: iota config show" })
    : new UserError(text, { next: next ?? `Correct ${file?.path ?? "the configuration"} and try again` });
}

/** The parent has dealt with --fresh and --resume. */
export function runWords({ options }: CommandContext): string[] {
  const ofRun = runOptions.filter(({ name }) => name !== "fresh" && name !== "resume");
  return givenWords(options, [...ofRun, fromOption, { name: "config", kind: "string" }]);
}

type NamedOption = Pick<OptionSpec, "name" | "kind">;

export function givenWords(options: OptionValues, specs: readonly NamedOption[]): string[] {
  return specs.filter(({ name }) => options.given(name)).flatMap(({ name, kind }) => {
    if (kind === "boolean") return [`--${name}`];
    return [`--${name}`, String(kind === "int" || kind === "float" ? options.number(name) : options.text(name))];
  });
}
