/**
 * The folder of a run on disk, and what may happen to a run that is already there.
 *
 *   dataset/  tokens and tokenizer        checkpoints/round-000012/     blobs/     wallets/     miners/     logs/
 *   run.toml  the effective configuration     run.json  the same for programs     summary.json  the last summary
 *   chain/    the swarm's own chain, and the weight duty of each validator
 *   wires.bin  the wires that a stopped orchestrator held
 *   journal.db  what happened since the last snapshot of the orchestrator's state
 *   journal.db.mark: how far it had come; journal.db.epoch: how often it was opened
 *   records.jsonl  the run's history, one JSON line per record; records.jsonl.1 and so on: older records
 *   ledger.jsonl  the signed log; ledger.jsonl.1 and so on: older lines; ledger.jsonl.head: its newest signed head
 *   put-aside-1-journal.db, checkpoints/put-aside-1-round-000012/  what a run could not go on from, or was newer
 *   put-aside-1-run/  an earlier run, whole: a folder of the same kind
 *   run.lock  held by the process that writes here (folder_lock.ts)
 *
 * A folder that holds a run resumes it; any other begins one. --resume refuses to begin one, and --fresh puts the run
 * aside first. Finding the folder writes nothing; preparing it is a separate call.
 */

import type { CommandContext } from "../terminal/command.ts";
import { isPutAside, nextNumber } from "./put_aside.ts";
import { attempting, UsageError, UserError } from "../program/errors.ts";
import { ledgerFileNames } from "./ledger_files.ts";
import { recordFileNames } from "./record_files.ts";

export interface RunFolder {
  readonly path: string;
  readonly isResumed: boolean;
}

export interface RunPlace {
  readonly path: string;
  readonly holdsRun: boolean;
}

const journal = ["journal.db", "journal.db-wal", "journal.db-shm", "journal.db.mark", "journal.db.epoch"];
export const wiresFile = "wires.bin";
const probeName = "room.probe"; // left over if a check for disk space was interrupted
const files = [
  wiresFile,
  "summary.json",
  probeName,
  ...journal,
  ...recordFileNames,
  ...ledgerFileNames,
];
const parts = ["run.json", "run.toml", "checkpoints", "blobs", "uploads", "chain", "miners", "logs", ...files];
const shared = ["dataset", "wallets"]; // the next run uses them too

/** Only reads. `ownPath` is the run's folder without --data. */
export async function findRunFolder(
  { options }: CommandContext,
  ownPath: () => Promise<string> | string,
): Promise<RunPlace> {
  const isResumed = options.flag("resume");
  if (isResumed && options.flag("fresh")) {
    throw new UsageError("--resume and --fresh exclude each other: one resumes the run, the other begins a new one", {
      next: "Leave one of them out",
    });
  }
  const path = options.text("data") ?? await ownPath();
  const holdsRun = await attempting(writing(path), () => holdsARun(path));
  if (isResumed && !holdsRun) {
    throw new UserError(`Cannot resume: '${path}' holds no run`, { next: "Begin one: leave --resume out" });
  }
  return { path, holdsRun };
}

/**
 * `run.toml` is the last file that a beginning run writes. A folder that lost it may still hold a run; `run.json` alone
 * is not one, because its process died before the run began.
 */
export async function holdsARun(path: string): Promise<boolean> {
  if (await exists(`${path}/run.toml`)) return true;
  if (!await exists(`${path}/run.json`)) return false;
  return await exists(`${path}/journal.db`) || await exists(`${path}/checkpoints`);
}

export async function openRunFolder(path: string): Promise<void> {
  await attempting(writing(path), async () => {
    await Deno.mkdir(path, { recursive: true });
    const probe = `${path}/.writable-${crypto.randomUUID()}`;
    await Deno.writeTextFile(probe, "");
    await Deno.remove(probe);
  });
}

const writing = (path: string) => ({ action: "write to the data folder", value: path });

export const namedFolder = (dataFolder: string, name: unknown): string => `${dataFolder}/runs/${name}`;

/** For unnamed runs: a new folder below `runs`, or the newest one there. */
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
  throw new UserError(`Cannot resume: '${runs}' holds no run`, { next: "Pass the run's folder with --data DIR" });
}

const dated = /^\d{8}T\d{6}-/;

/** The same text twice means that nobody has begun or resumed a run in between. */
export async function folderMark(path: string): Promise<string> {
  const names = ["run.json", "journal.db.epoch"];
  const texts = await Promise.all(names.map((name) => Deno.readTextFile(`${path}/${name}`).catch(() => null)));
  return JSON.stringify([await exists(`${path}/run.toml`), ...texts]);
}

/**
 * Returns the run's new folder below, where it can be resumed. What names the run goes first, so a kill in between
 * leaves nothing that counts as a run without its parts.
 */
export async function putRunAside(path: string): Promise<string> {
  const aside = `${path}/put-aside-${await nextNumber(path)}-${asideName}`;
  await attempting({ action: "write to the folder", value: path }, async () => {
    await Deno.mkdir(aside);
    for (const name of shared) if (await exists(`${path}/${name}`)) await share(`${path}/${name}`, `${aside}/${name}`);
    const others = (await Array.fromAsync(Deno.readDir(path))).map(({ name }) => name)
      .filter((name) => isPutAside(name) && !isRunPutAside(name));
    for (const name of [...parts, ...others]) {
      if (await exists(`${path}/${name}`)) await Deno.rename(`${path}/${name}`, `${aside}/${name}`);
    }
  });
  return aside;
}

const asideName = "run";

export const isRunPutAside = (name: string): boolean => isPutAside(name) && name.endsWith(`-${asideName}`);

/** They are replaced, never changed: a link will do, or a copy where the disk has no links. */
async function share(from: string, to: string): Promise<void> {
  await Deno.mkdir(to);
  for await (const { name, isDirectory, isFile } of Deno.readDir(from)) {
    const [source, target] = [`${from}/${name}`, `${to}/${name}`];
    if (isDirectory) await share(source, target);
    else if (isFile) await Deno.link(source, target).catch(() => Deno.copyFile(source, target));
  }
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
