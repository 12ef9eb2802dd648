/**
 * Opens a run's journal: the state to go on with, or a new journal where there is none that fits.
 *
 * A journal of another program version or configuration, one damaged beyond its tail, or an empty one of a run that had begun
 * is put aside with a warning; the run then goes on from its last checkpoint.
 */

import { createHash } from "node:crypto";
import type { RunConfig } from "../../core/config/config.ts";
import { UserError } from "../errors.ts";
import { JournalError } from "../journal/journal_error.ts";
import { exists } from "../run_folder.ts";
import { version } from "../version.ts";
import { HubJournal, type OpenHubJournal, type RecoveredRun } from "./hub_journal.ts";

const fileName = "journal.db";
const suffixes = ["", "-wal", "-shm"];

/** Room for the wires of the open step and of audits, and for the events between two snapshots. */
const largestShare = 8; // of all segments of a step

export interface RecoverOptions {
  readonly folder: string;
  readonly runId: string;
  readonly config: RunConfig;
  readonly hasBegun: boolean; // then a journal that is there says where the run is
  readonly onReplayed: NonNullable<OpenHubJournal["onReplayed"]>;
  readonly warn: (text: string) => void;
}

export interface OpenedJournal {
  readonly journal: HubJournal;
  readonly recovered: RecoveredRun | null;
}

export async function openRunJournal(options: RecoverOptions): Promise<OpenedJournal> {
  const { folder, runId, config, hasBegun, onReplayed, warn } = options;
  const path = `${folder}/${fileName}`;
  const identity = { run: runId, program: version, config: hashOf(config) };
  const request: OpenHubJournal = { path, identity, maxBytes: journalBytes(config), onReplayed };
  const mustHold = hasBegun && await hasJournal(folder);
  try {
    if (mustHold && (await Deno.stat(path)).size === 0) throw emptyJournal(path);
    const opened = HubJournal.open(request);
    if (mustHold && opened.recovered === null) {
      opened.journal.close();
      throw emptyJournal(path);
    }
    if (opened.recovered?.cut != null) warn(opened.recovered.cut);
    return opened;
  } catch (error) {
    if (!(error instanceof JournalError)) throw error;
    if (error.code !== "foreign" && error.code !== "damaged") throw userError(error, folder);
    warn(`${error.message}; going on from the last checkpoint`);
    await putAside(folder);
    return HubJournal.open(request);
  }
}

function emptyJournal(path: string): JournalError {
  return new JournalError("damaged", `Cannot read the journal '${path}' as it must have a state: it is empty`);
}

/** Kept for whoever wants to look at it, until the next one takes its place. */
async function putAside(folder: string): Promise<void> {
  for (const suffix of suffixes) {
    const path = `${folder}/${fileName}${suffix}`;
    if (await exists(path)) await Deno.rename(path, `${folder}/put-aside-${fileName}${suffix}`);
  }
}

/** A run that ended in order needs no journal. */
export async function removeJournal(folder: string): Promise<void> {
  for (const suffix of suffixes) {
    const path = `${folder}/${fileName}${suffix}`;
    if (await exists(path)) await Deno.remove(path);
  }
}

export function hasJournal(folder: string): Promise<boolean> {
  return exists(`${folder}/${fileName}`);
}

/** For a journal that cannot be opened or written. */
export function userError(error: JournalError, folder: string): UserError {
  const next = error.code === "locked"
    ? "Stop the other orchestrator first, or choose another folder with --data DIR"
    : `Make room or repair the folder, then go on with --data ${folder} --resume`;
  return new UserError(error.message, { next, cause: error });
}

function hashOf(config: RunConfig): string {
  return createHash("sha256").update(JSON.stringify(config)).digest("hex");
}

function journalBytes(config: RunConfig): number {
  const { microbatchesPerStep } = config.train;
  const boundaries = 2 * config.pipeline.stages;
  return 2 ** 30 + largestShare * microbatchesPerStep * boundaries * config.limits.frameBytes;
}
