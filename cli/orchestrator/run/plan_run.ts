/**
 * Plans a run before anything is written. Settings given now override the run's; a change to a lasting one is refused
 * by name (core/settings/change.ts).
 */

import { resolve } from "node:path";
import { changesBetween, describeChange, mayChange, type SettingChange } from "../../../core/settings/change.ts";
import type { RunConfig } from "../../../core/config/config.ts";
import { assembleConfig, valueAt } from "../../../core/settings/derive.ts";
import { isSizeName, type SizeName } from "../../../core/config/size.ts";
import type { StartModel } from "../../../core/ledger/entry.ts";
import { tomlValue } from "../../../core/config/knob.ts";
import { knobAt, knobPaths } from "../../../core/config/knobs.ts";
import { checkRules, type GivenSettings, type Origins, readGiven } from "../../../core/settings/parse.ts";
import { type FoundCheckpoint, latestCheckpoint } from "../../model/checkpoint/checkpoint.ts";
import { canRestage } from "../../model/checkpoint/restage.ts";
import { isPrepared } from "../../model/prepare/collect_small.ts";
import { withDatasetSettings } from "../../model/prepare/dataset_settings.ts";
import type { CommandContext } from "../../terminal/command.ts";
import type { ConfigFile } from "../../terminal/options/config_file.ts";
import { openModel } from "../../model/source/open_model.ts";
import { type RunStart, settingsOf, startName } from "../../model/source/start_model.ts";
import { UsageError, UserError } from "../../program/errors.ts";
import { exists, findRunFolder, folderMark, type RunFolder, type RunPlace } from "../../files/run_folder.ts";
import { type GivenRun, givenRun, resolveRun, settingsError } from "../../terminal/options/run_options.ts";
import { plural } from "../../terminal/text/format.ts";
import { datasetNamed } from "../../program/paths.ts";
import { shellWords } from "../../program/shell_words.ts";
import { hasJournal, markedStep } from "./recover_run.ts";
import { isRunText, readRunText } from "./run_text.ts";
import { savedSummary } from "../../observe/run_summary.ts";
import { readSavedRun, type SavedRun } from "../../files/saved_run.ts";

export interface RunPlan {
  readonly folder: RunFolder;
  readonly mark: string; // of the folder when it was read
  readonly putsAside: boolean; // the existing run
  readonly config: RunConfig;
  readonly origins: Origins;
  readonly changes: readonly SettingChange[];
  readonly runId: string;
  readonly saved: SavedRun | null;
  readonly found: FoundCheckpoint | null;
  readonly start: RunStart | null; // the model that a new run begins with
  readonly from: StartModel | null; // the model that a resumed run began with
  readonly isOver: boolean;
  readonly advice: PlanAdvice;
}

interface PlanAdvice {
  readonly folder: string; // how to give a run another folder
  readonly steps: string | null; // the file's line
}

/** `ownPath`: the run's folder without --data. */
export async function planRun(
  context: CommandContext,
  ownPath: (name: string) => Promise<string> | string,
): Promise<RunPlan> {
  const run = await givenRun(context);
  const given = readGiven(run.input);
  if (given.problems.length > 0) throw await settingsError(given.problems, run);
  const name = given.values.get("name") ?? knobAt("name").default;
  const found = await findRunFolder(context, () => ownPath(String(name)));
  const place = { ...found, path: resolve(found.path) }; // printed commands must work in any folder
  const mark = await folderMark(place.path);
  const isFresh = context.options.flag("fresh");
  if (!isFresh || (run.file !== null && resolve(run.file.path) === `${place.path}/run.toml`)) await mustBeOurs(place);
  if (place.holdsRun && !isFresh) return await planToGoOn(context, { path: place.path, mark, given, file: run.file });
  if (place.holdsRun) mustBeElsewhere(context.options.text("from"), place.path);
  const { config, origins, start } = await resolveNewRun(context, run);
  return {
    folder: { path: place.path, isResumed: false },
    mark,
    putsAside: isFresh && place.holdsRun,
    ...{ config, origins, changes: [], saved: null, found: null, isOver: false, start, from: null },
    advice: adviceOf(context, run.file),
    runId: `${config.name}-${crypto.randomUUID().slice(0, 8)}`,
  };
}

const sizeOf = ({ values }: GivenSettings): SizeName | null => {
  const size = values.get("size");
  return isSizeName(size) ? size : null;
};

/** With the settings that come with the model of --from, or with a prepared dataset. */
export async function resolveNewRun(
  context: CommandContext,
  given?: GivenRun,
): Promise<{ config: RunConfig; origins: Origins; start: RunStart | null }> {
  const run = given ?? await givenRun(context);
  await mustBePrepared(context);
  const path = context.options.text("from");
  if (path === undefined) {
    const input = await withDatasetSettings(run.input);
    return { ...await resolveRun(context, { ...run, input }), start: null };
  }
  const source = await openModel(path, (text) => context.output.log.warn(text));
  const input = { ...run.input, from: settingsOf(source, sizeOf(readGiven(run.input))) };
  return { ...await resolveRun(context, { ...run, input }), start: { name: startName(path), source } };
}

/** --corpus takes texts, --data-set only what `iota data prepare` wrote. */
async function mustBePrepared({ options, environment }: CommandContext): Promise<void> {
  const name = options.given("data-set") ? options.text("data-set") : undefined;
  if (name === undefined) return;
  const folder = datasetNamed(environment, name);
  if (await isPrepared(folder)) return;
  throw new UsageError(`There is no dataset in '${folder}': dataset.json is missing`, {
    next: `Prepare one there: ${shellWords(["iota", "data", "prepare", "--input", "PLACE", "--out", folder])}`,
  });
}

/** Not in the run that --fresh puts aside. */
function mustBeElsewhere(from: string | undefined, run: string): void {
  if (from === undefined || !`${resolve(from)}/`.startsWith(`${run}/`)) return;
  throw new UsageError(`--fresh puts the run in '${run}' aside, and --from '${from}' is in it`, {
    next: "Begin the new run in another folder: --data DIR",
  });
}

/** A person's own run.toml would be overwritten. */
async function mustBeOurs({ path, holdsRun }: RunPlace): Promise<void> {
  if (!holdsRun || await hasJournal(path) || isRunText(await readRunText(path))) return;
  if (await exists(`${path}/run.json`) || await exists(`${path}/checkpoints`)) return; // only the file is damaged
  throw new UserError(
    `Cannot use '${path}' for a run: iota would overwrite its run.toml, which iota did not write`,
    { next: `Move the file: mv ${shellWords([`${path}/run.toml`, `${path}.toml`])}; then pass it with --config` },
  );
}

async function planToGoOn(
  context: CommandContext,
  { path, mark, given, file }: { path: string; mark: string; given: GivenSettings; file: ConfigFile | null },
): Promise<RunPlan> {
  const { saved, found, ...before } = await findRun(context, path);
  const { folder: advice } = adviceOf(context, file);
  const from = saved?.from ?? found?.manifest.from ?? null;
  mustBeginAs(from, { given: context.options.text("from"), path, advice });
  if (from !== null && found === null && !await hasJournal(path)) throw lostStart(path, from);
  const config = await settingsToGoOn(before.config, { given, file, found, advice: `'${path}': ${advice}` });
  const isClosed = found !== null && !await hasJournal(path);
  const isOver = isClosed && found.manifest.step >= config.train.steps;
  if (!isClosed) {
    const done = Math.max(found?.manifest.step ?? 0, markedStep(path));
    await mustHaveStepsLeft({ before: before.config, config, done }, { given, file });
  }
  return {
    folder: { path, isResumed: true },
    ...{ mark, putsAside: false },
    ...{ config, origins: given.origins, changes: changesBetween(before.config, config) },
    ...{ runId: before.runId, saved, found, isOver, start: null, from },
    advice: adviceOf(context, file),
  };
}

function mustBeginAs(
  from: StartModel | null,
  { given, path, advice }: { given: string | undefined; path: string; advice: string },
): void {
  if (given === undefined || startName(given) === from?.name) return;
  const began = from === null ? "random parameters" : `the model '${from.name}'`;
  throw new UsageError(`The run in '${path}' began with ${began}, and --from '${given}' begins a new run`, {
    next: `Leave --from out to resume that run; or begin another one, not in '${path}': ${advice}`,
  });
}

/** Going on from random parameters would be another run. */
const lostStart = (path: string, { name }: StartModel): UserError =>
  new UserError(
    `The run in '${path}' began with the parameters of '${name}', and neither they nor its journal are there`,
    {
      next: `Restore '${path}/checkpoints' from a copy, or begin another run in another folder; nothing was changed`,
    },
  );

async function settingsToGoOn(
  before: RunConfig,
  { given, file, found, advice }: {
    given: GivenSettings;
    file: ConfigFile | null;
    found: FoundCheckpoint | null;
    advice: string;
  },
): Promise<RunConfig> {
  const config = assembleConfig(
    new Map(knobPaths.map((path) => [path, given.values.get(path) ?? valueAt(before, path)])),
  );
  const isRecut = found !== null && canRestage(before, config);
  const refused = changesBetween(before, config)
    .filter(({ path }) => !mayChange(path) && !(isRecut && path === stagesPath));
  if (refused.length > 0) {
    const problems = refused.map(({ path, from, to }) => ({
      path,
      origin: given.origins[path],
      text: `${path} must stay ${tomlValue(from)} for the whole run, and is now ${tomlValue(to)}` +
        (path === stagesPath ? ": only a plain Llama's checkpoint can be cut into other stages" : ""),
    }));
    const next = `Undo that change, or begin another run, not in ${advice}; ` +
      "or use --fresh, which puts the existing run aside";
    throw await settingsError(problems, { file, next });
  }
  const checked = checkRules({ config, origins: given.origins });
  if (!checked.ok) throw await settingsError(checked.problems, { file });
  return config;
}

/** The checkpoint of a plain model can be cut into other stages. */
const stagesPath = "pipeline.stages";

async function mustHaveStepsLeft(
  { before, config, done }: { before: RunConfig; config: RunConfig; done: number },
  { given, file }: { given: GivenSettings; file: ConfigFile | null },
): Promise<void> {
  const path = "train.steps";
  const { steps } = config.train;
  if (steps >= before.train.steps || steps > done) return;
  const text = `${path} is ${steps}, but the run has already done ${plural(done, "step")}`;
  throw await settingsError([{ path, origin: given.origins[path], text }], {
    file,
    next: `Pass more than ${done}: the run now has --steps ${before.train.steps}`,
  });
}

function adviceOf({ options }: CommandContext, file: ConfigFile | null): PlanAdvice {
  const place = (path: string) => {
    if (file === null || !sets(file.table, path)) return null;
    return `${file.path}:${file.lineOf(path)}`;
  };
  const name = place("name");
  const steps = place("train.steps");
  const folder = options.given("data")
    ? "in another folder with --data DIR"
    : `it is the folder of that name; change name ${
      name === null ? "with --set name=NAME" : `in ${name}`
    }, or pass another folder with --data DIR`;
  return { folder, steps };
}

/** False for a commented-out line, for which `lineOf` would give the table's line. */
function sets(table: ConfigFile["table"], path: string): boolean {
  let value: unknown = table;
  for (const key of path.split(".")) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return false;
    value = (value as ConfigFile["table"])[key];
  }
  return true;
}

interface FoundRun {
  readonly saved: SavedRun | null;
  readonly found: FoundCheckpoint | null;
  readonly config: RunConfig;
  readonly runId: string;
}

/** Throws if neither the run's file nor a whole checkpoint identifies it. */
async function findRun({ output: { log } }: CommandContext, folder: string): Promise<FoundRun> {
  const read = await readSavedRun(folder);
  const saved = read === "damaged" ? null : read;
  const found = await latestCheckpoint(`${folder}/checkpoints`, (text) => log.warn(text), saved?.runId);
  if (saved !== null) return { saved, found, config: saved.config, runId: saved.runId };
  const problem = `'${folder}/run.json', which names the run, is ${read === null ? "missing" : "damaged"}`;
  if (found === null) {
    throw new UserError(`Cannot resume: ${problem}, and there is no whole checkpoint that names it`, {
      next: "Restore the file from a copy, or begin another run in another folder; nothing was changed",
    });
  }
  log.warn(`${problem}; the checkpoint '${found.folder}' names it instead`);
  return { saved: null, found, config: found.manifest.config, runId: found.manifest.runId };
}

/** Not a failure; programs read the summary again. */
export async function sayOver(
  { output }: CommandContext,
  { plan, command }: { plan: RunPlan; command: string },
): Promise<void> {
  const { folder: { path }, config, found } = plan;
  const { steps } = config.train;
  const step = found?.manifest.step ?? steps;
  const words = (...more: string[]) => shellWords(["iota", command, "--data", path, ...more]);
  const text = [
    `The run in '${path}' is over: step ${step} of ${steps} is done. Its model: ${found?.folder ?? "not stored"}`,
    `More steps: ${words("--steps", String(2 * step))}${
      plan.advice.steps === null
        ? ""
        : ` (and set steps in ${plan.advice.steps}, or the next start with it undoes that)`
    }`,
    `Another run: ${plan.advice.folder}, or here with --fresh, which puts this one aside`,
  ].join("\n");
  const now = { finished: true, isOver: true, steps: step, checkpoint: found?.folder ?? null, run: path };
  output.answer({ ...await savedSummary(path), ...now }, text);
}

export function sayChanges(
  { output }: CommandContext,
  { changes, found }: Pick<RunPlan, "changes" | "found">,
): void {
  for (const change of changes) {
    output.event({ type: "settingChanged", ...change });
    const more = change.path === stagesPath
      ? `: the checkpoint of step ${found!.manifest.step} is cut anew, and optimizer states begin empty`
      : "";
    output.log.info(`Changed ${describeChange(change)}${more}`);
  }
}
