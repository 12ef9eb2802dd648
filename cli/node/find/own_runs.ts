/**
 * The runs in this machine's folders. Unreadable files leave a field null, so that one damaged run does not hide the
 * others.
 */

import { resolve } from "node:path";
import { isRunHeld } from "../../files/folder_lock.ts";
import { savedSummary } from "../../observe/run_summary.ts";
import { readSavedRun } from "../../files/saved_run.ts";
import type { CommandContext, OptionValues } from "../../terminal/command.ts";
import { type Environment, tuningFolder } from "../../program/paths.ts";
import { parseLine } from "../../observe/projection/log_line.ts";
import { recordPath } from "../../files/record_files.ts";
import { holdsARun, isRunPutAside } from "../../files/run_folder.ts";
import { checkoutFolder } from "../../program/self.ts";
import { UsageError } from "../../program/errors.ts";
import { shellWord } from "../../program/shell_words.ts";

interface OwnRunPlace {
  readonly folder: string;
  readonly atMs: number;
}

export interface OwnRun extends OwnRunPlace {
  readonly run: string | null;
  readonly size: string | null;
  readonly step: number | null;
  readonly steps: number | null;
  readonly loss: number | null;
  readonly state: "running" | "finished" | "stopped";
}

interface Asked {
  readonly options: OptionValues;
  readonly environment: Environment;
}

/** The current folder comes first. */
function placesOf({ options, environment }: Asked): { parents: string[]; singles: string[] } {
  const data = options.text("data");
  if (data !== undefined) return { parents: [`${data}/runs`], singles: [data] };
  const checkout = checkoutFolder();
  const users = tuningFolder(environment);
  const parents = [
    "runs",
    ...(checkout === null ? [] : [`${checkout}runs`]),
    ...(users === null ? [] : [`${users}/runs`]),
  ];
  return {
    parents: parents.filter((path, i) => parents.findIndex((one) => resolve(one) === resolve(path)) === i),
    singles: [resolve(".")],
  };
}

export async function foldersOfRuns(asked: Asked): Promise<string[]> {
  const { parents, singles } = placesOf(asked);
  const held = await Promise.all(singles.map(isRun));
  return [...parents, ...singles.filter((_, i) => held[i])];
}

export async function ownRuns(asked: Asked): Promise<OwnRunPlace[]> {
  const { parents, singles } = placesOf(asked);
  const below = await Promise.all(
    parents.map(async (parent) => (await namesIn(parent)).map((name) => `${parent}/${name}`)),
  );
  const folders = [...singles, ...below.flat()];
  const found = await Promise.all(folders.map(runsIn));
  return found.flat().sort((a, b) => b.atMs - a.atMs);
}

async function runsIn(folder: string): Promise<OwnRunPlace[]> {
  const aside = (await namesIn(folder)).filter(isRunPutAside).map((name) => `${folder}/${name}`);
  const runs: OwnRunPlace[] = [];
  for (const path of [folder, ...aside]) {
    if (await isRun(path)) runs.push({ folder: path, atMs: await changedAtMs(path) });
  }
  return runs;
}

/** Prefers the run in the folder of --data or the current one. Null: none. */
async function newestRun(asked: Asked): Promise<string | null> {
  for (const single of placesOf(asked).singles) if (await isRun(single)) return single;
  return (await ownRuns(asked))[0]?.folder ?? null;
}

async function runningRuns(asked: Asked): Promise<string[]> {
  return (await ownRuns(asked)).map(({ folder }) => folder).filter(isRunHeld);
}

export async function describeOwnRun({ folder, atMs }: OwnRunPlace): Promise<OwnRun> {
  const saved = await readSavedRun(folder).catch(() => null);
  const config = saved === null || saved === "damaged" ? null : saved.config;
  const summary = await savedSummary(folder).catch((): Record<string, unknown> => ({}));
  const last = await lastProgress(folder).catch(() => null);
  const step = last?.step ?? numberOf(summary["steps"]);
  const steps = config?.train.steps ?? null;
  const isDone = (last?.isOver ?? summary["finished"] === true) && (steps === null || step === null || step >= steps);
  return {
    ...{ folder, atMs, step, steps },
    run: saved === null || saved === "damaged" ? null : saved.runId,
    size: config?.size ?? null,
    loss: last === null ? numberOf(summary["lossLast"]) : last.loss,
    state: isRunHeld(folder) ? "running" : isDone ? "finished" : "stopped",
  };
}

const isRun = async (path: string): Promise<boolean> => {
  try {
    return await holdsARun(path) || await isThere(recordPath(path));
  } catch {
    return false;
  }
};

const isThere = (path: string): Promise<boolean> => Deno.stat(path).then(() => true, () => false);

async function namesIn(folder: string): Promise<string[]> {
  try {
    return (await Array.fromAsync(Deno.readDir(folder))).filter(({ isFile }) => !isFile).map(({ name }) => name);
  } catch {
    return [];
  }
}

const changing = ["records.jsonl", "journal.db", "summary.json", "run.json", "run.toml"];

async function changedAtMs(folder: string): Promise<number> {
  const times = changing.map((name) =>
    Deno.stat(`${folder}/${name}`).then(({ mtime }) => mtime?.getTime() ?? 0, () => 0)
  );
  return Math.max(...await Promise.all(times));
}

const tailBytes = 2 ** 20; // far more than one step's records

interface Progress {
  readonly step: number | null;
  readonly loss: number | null; // null: not in the tail, or nothing was trained
  readonly isOver: boolean; // all steps are done and stored, and the run was not resumed
}

/** From the end of the record log, which a killed run has too. Null: no step. */
async function lastProgress(folder: string): Promise<Progress | null> {
  const lines = (await tailOf(recordPath(folder))).split("\n").reverse();
  let last: Omit<Progress, "loss"> | null = null;
  for (const line of lines) {
    const entry = parseLine(line);
    const told = progressIn({ ...entry?.view, ...entry?.record });
    if (told === null || told.step === null) continue;
    last ??= { step: told.step, isOver: told.isOver };
    if (told.loss !== null && told.step === last.step) return { ...last, loss: told.loss };
    if (told.step < last.step!) break;
  }
  return last === null ? null : { ...last, loss: null };
}

/** Takes records and views of any version. Steps that a rollback undid do not count. */
function progressIn(fields: Readonly<Record<string, unknown>>): Progress | null {
  const { type, step, toStep, loss, lossLast, finished, phase } = fields;
  switch (type) {
    case "rewound":
      return { step: numberOf(toStep), loss: null, isOver: false };
    case "mergeRetaken":
      return { step: numberOf(step), loss: null, isOver: false };
    case "takenUp":
      return { step: numberOf(step), loss: null, isOver: phase === "finished" };
    case "stepClosed":
      return { step: numberOf(step), loss: numberOf(loss), isOver: false };
    case "runFinished":
      return { step: numberOf(step), loss: null, isOver: finished === true };
    case undefined:
      return step === undefined
        ? null
        : { step: numberOf(step), loss: numberOf(lossLast), isOver: phase === "finished" };
    default:
      return null;
  }
}

async function tailOf(path: string): Promise<string> {
  using file = await Deno.open(path);
  const { size } = await file.stat();
  await file.seek(Math.max(0, size - tailBytes), Deno.SeekMode.Start);
  const bytes = new Uint8Array(Math.min(size, tailBytes));
  let length = 0;
  while (length < bytes.length) {
    const count = await file.read(bytes.subarray(length));
    if (count === null) break;
    length += count;
  }
  return new TextDecoder().decode(bytes.subarray(0, length));
}

const numberOf = (value: unknown): number | null => typeof value === "number" && Number.isFinite(value) ? value : null;

/** Null: none, and the command says what it needs. `running` requires exactly one, since requests change it. */
export async function takeOwnRun(
  context: CommandContext,
  { command, taken }: { command: string; taken: "newest" | "running" },
): Promise<string | null> {
  const { output } = context;
  if (taken === "newest") {
    const run = await newestRun(context);
    if (run !== null) output.log.info(`No run was named: taking the newest of this machine, ${run}`);
    return run;
  }
  const [run, ...others] = await runningRuns(context);
  if (run === undefined) return null;
  if (others.length === 0) {
    output.log.info(`No run was named: taking the one that runs on this machine, ${run}`);
    return run;
  }
  throw new UsageError(`Several runs are running on this machine: ${[run, ...others].join(", ")}`, {
    next: `Name the one that is meant: iota ${command} … --run ${shellWord(run)}`,
  });
}
