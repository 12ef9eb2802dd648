/**
 * Where one run lies on disk, and what may happen to a run that lies there already.
 *
 *   dataset/  tokens and tokenizer        checkpoints/round-000012/     blobs/     wallets/     miners/     logs/
 *   run.toml  the effective configuration     run.json  the same for programs     summary.json  the last summary
 *   chain/    the swarm's own chain, and the weight duty of each validator
 *   journal.db  what happened since the last snapshot of the orchestrator's state; journal.db.mark: how far it had come
 *   records.jsonl  what happened, one JSON line a record; records.jsonl.1 and so on: what happened before
 *   put-aside-1-journal.db, checkpoints/put-aside-1-round-000012/  what a run could not go on from, or was newer than its start
 *
 * A folder that holds a run is gone on with, and any other begins one; --resume refuses to begin, and --fresh deletes the run
 * first. Nothing is written before the caller says so: where a run would lie is one question, making room for it another.
 */

import type { CommandContext } from "./command.ts";
import { isPutAside } from "./data/put_aside.ts";
import { attempting, UsageError, UserError } from "./output/errors.ts";
import { recordFileNames } from "./projection/record_files.ts";

export interface RunFolder {
  readonly path: string;
  readonly isResumed: boolean;
}

/** Where a run lies, and whether one is there. */
export interface RunPlace {
  readonly path: string;
  readonly holdsRun: boolean;
}

const journal = ["journal.db", "journal.db-wal", "journal.db-shm", "journal.db.mark"];
const probeName = "room.probe"; // of a look for room on a full disk, if it was interrupted
const files = ["run.toml", "run.json", "summary.json", probeName, ...journal, ...recordFileNames];
const parts = ["checkpoints", "blobs", "chain", "miners", "logs", ...files];

/** Looks and does not touch. `ownPath` is where the run lies without --data. */
export async function findRunFolder(
  { options }: CommandContext,
  ownPath: () => Promise<string> | string,
): Promise<RunPlace> {
  const isResumed = options.flag("resume");
  if (isResumed && options.flag("fresh")) {
    throw new UsageError("Cannot use --resume and --fresh together as one keeps the run and the other deletes it", {
      next: "Leave one of them out",
    });
  }
  const path = options.text("data") ?? await ownPath();
  const holdsRun = await attempting(writing(path), () => exists(`${path}/run.toml`));
  if (isResumed && !holdsRun) {
    throw new UserError(`Cannot resume as '${path}' must hold a run`, { next: "Begin one: leave --resume out" });
  }
  return { path, holdsRun };
}

/** Makes the folder and sees that it can be written to. */
export async function openRunFolder(path: string): Promise<void> {
  await attempting(writing(path), async () => {
    await Deno.mkdir(path, { recursive: true });
    const probe = `${path}/.writable-${crypto.randomUUID()}`;
    await Deno.writeTextFile(probe, "");
    await Deno.remove(probe);
  });
}

const writing = (path: string) => ({ action: "write to the data folder", value: path });

/** Where an orchestrator's run lies without --data: by its name. */
export const namedFolder = (dataFolder: string, name: unknown): string => `${dataFolder}/runs/${name}`;

/** For runs without a name of their own: a new folder below `runs`, or the newest one there. */
export async function datedFolder(runs: string, { isResumed }: { isResumed: boolean }): Promise<string> {
  if (!isResumed) {
    return `${runs}/${new Date().toISOString().replace(/[-:]/g, "").slice(0, 15)}-${crypto.randomUUID().slice(0, 4)}`;
  }
  const names: string[] = [];
  try {
    for await (const { name } of Deno.readDir(runs)) if (dated.test(name)) names.push(name);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  const newest = names.sort().at(-1);
  if (newest !== undefined) return `${runs}/${newest}`;
  throw new UserError(`Cannot resume as '${runs}' must hold a run`, { next: "Pass the run's folder with --data DIR" });
}

const dated = /^\d{8}T\d{6}-/;

/** Only what a run wrote; the dataset and the wallets serve the next one. */
export async function removeRun(path: string): Promise<void> {
  for (const part of parts) {
    if (await exists(`${path}/${part}`)) await Deno.remove(`${path}/${part}`, { recursive: true });
  }
  for await (const { name } of Deno.readDir(path)) if (isPutAside(name)) await Deno.remove(`${path}/${name}`);
}

export async function exists(path: string): Promise<boolean> {
  try {
    await Deno.stat(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
