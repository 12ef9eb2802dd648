/**
 * Where one run lies on disk, and what may happen to a run that lies there already.
 *
 *   dataset/  tokens and tokenizer        checkpoints/round-000012/     blobs/     wallets/     miners/     logs/
 *   run.toml  the effective configuration     run.json  the same for programs     summary.json  the last summary
 *   chain/    the swarm's own chain, and the weight duty of each validator
 *   journal.db  what happened since the last snapshot of the orchestrator's state; journal.db.mark: how far it had come
 *   put-aside-1-journal.db, checkpoints/put-aside-1-round-000012/  what a run could not go on from, or was newer than its start
 *
 * Refuses to touch an earlier run without --resume or --fresh. Without --data a new run gets a folder of its own below the
 * user's data folder, and --resume takes the newest one there.
 */

import type { CommandContext } from "./command.ts";
import { isPutAside } from "./data/put_aside.ts";
import { attempting, UsageError, UserError } from "./errors.ts";

export interface RunFolder {
  readonly path: string;
  readonly isResumed: boolean;
}

const journal = ["journal.db", "journal.db-wal", "journal.db-shm", "journal.db.mark"];
const probeName = "room.probe"; // of a look for room on a full disk, if it was interrupted
const files = ["run.toml", "run.json", "summary.json", probeName, ...journal];
const parts = ["checkpoints", "blobs", "chain", "miners", "logs", ...files];

export async function openRunFolder(context: CommandContext): Promise<RunFolder> {
  const { options } = context;
  const isResumed = options.flag("resume");
  const isFresh = options.flag("fresh");
  if (isResumed && isFresh) {
    throw new UsageError("Cannot use --resume and --fresh together as one keeps the run and the other deletes it", {
      next: "Leave one of them out",
    });
  }
  const path = options.text("data") ?? await ownFolder(`${context.dataFolder()}/runs`, isResumed);
  const attempt = { action: "write to the data folder", value: path };
  const holdsRun = await attempting(attempt, () => exists(`${path}/run.toml`));
  if (holdsRun && !isResumed && !isFresh) {
    throw new UserError(`Cannot begin a run in '${path}' as it must not hold another one`, {
      next: "Go on with it: --resume; delete it and begin anew: --fresh; or pass another folder with --data DIR",
    });
  }
  if (isResumed && !holdsRun) {
    throw new UserError(`Cannot resume as '${path}' must hold a run`, { next: "Begin one: leave --resume out" });
  }
  await attempting(attempt, async () => {
    await Deno.mkdir(path, { recursive: true });
    if (isFresh) await removeRun(path);
    const probe = `${path}/.writable-${crypto.randomUUID()}`;
    await Deno.writeTextFile(probe, "");
    await Deno.remove(probe);
  });
  return { path, isResumed };
}

async function ownFolder(runs: string, isResumed: boolean): Promise<string> {
  if (!isResumed) {
    return `${runs}/${new Date().toISOString().replace(/[-:]/g, "").slice(0, 15)}-${crypto.randomUUID().slice(0, 4)}`;
  }
  const names: string[] = [];
  try {
    for await (const entry of Deno.readDir(runs)) if (entry.isDirectory) names.push(entry.name);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  const newest = names.sort().at(-1);
  if (newest !== undefined) return `${runs}/${newest}`;
  throw new UserError(`Cannot resume as '${runs}' must hold a run`, { next: "Pass the run's folder with --data DIR" });
}

/** Only what a run wrote; the dataset and the wallets serve the next one. */
async function removeRun(path: string): Promise<void> {
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
