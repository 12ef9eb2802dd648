/**
 * Opens a run's journal, or starts a new one. The newest verifiable state wins. A journal is put aside if it is of
 * another program version or configuration, damaged beyond its tail, overtaken by a checkpoint, or empty although the
 * run had begun. If no state is left to resume from, nothing is touched.
 */

import { createHash } from "node:crypto";
import { lastingSettings } from "../../../core/settings/change.ts";
import type { RunConfig } from "../../../core/config/config.ts";
import { checkpointNames } from "../../model/checkpoint/checkpoint.ts";
import { putAside } from "../../files/put_aside.ts";
import { UserError } from "../../program/errors.ts";
import { epochPath } from "../journal/journal_epoch.ts";
import { JournalError } from "../../files/journal_error.ts";
import { refuseHeld } from "../journal/journal_file.ts";
import { type Mark, markPath, readMark } from "../journal/journal_mark.ts";
import { exists } from "../../files/run_folder.ts";
import { shellWord } from "../../program/shell_words.ts";
import { stateVersion } from "../../../core/orchestrator/state.ts";
import { version } from "../../program/version.ts";
import type { OpenedJournal, OpenHubJournal } from "../journal/hub_journal.ts";

const fileName = "journal.db";
const fileNames = [fileName, `${fileName}-wal`, `${fileName}-shm`, markPath(fileName)];

const journalBytes = 2 ** 30; // a snapshot and the events after it take a small part of it

export interface Progress {
  readonly round: number;
  readonly step: number;
}

interface RecoverOptions {
  readonly folder: string;
  readonly runId: string;
  readonly config: RunConfig;
  readonly hasBegun: boolean; // then a journal says where the run is
  readonly checkpoint: Progress | null;
  readonly isFromModel?: boolean; // without a checkpoint its first parameters are lost; default false
  readonly onReplayed: NonNullable<OpenHubJournal["onReplayed"]>;
  readonly warn: (text: string) => void;
  readonly open: OpenJournal;
}

export type OpenJournal = (request: OpenHubJournal) => OpenedJournal | Promise<OpenedJournal>;

export async function openRunJournal(options: RecoverOptions): Promise<OpenedJournal> {
  const { folder, runId, config, hasBegun, onReplayed, warn, open } = options;
  const path = `${folder}/${fileName}`;
  const identity = { run: runId, program: `${version}, state ${stateVersion}`, config: hashOf(config) };
  const request: OpenHubJournal = { path, identity, maxBytes: journalBytes, onReplayed };
  if (!hasBegun) {
    const [kept] = await putJournalAside(folder);
    if (kept !== undefined) warn(`'${folder}' has a journal but no run: it is kept as '${kept}', and a new run begins`);
    return await openNew(open, request, folder);
  }
  const mark = readMark(markPath(path));
  try {
    return await openOld(request, { ...options, mark });
  } catch (error) {
    if (!(error instanceof JournalError)) throw error;
    if (isNoDamage(error)) throw userError(error, folder);
    const start = await startWithout(error, { ...options, mark });
    const [kept] = await putJournalAside(folder);
    warn(`${error.message}${markText(mark)}; it is kept as '${kept}', and the run resumes from ${start}`);
    return await openNew(open, request, folder);
  }
}

/** Sound, or another process's: it stays. */
function isNoDamage({ code }: JournalError): boolean {
  return code === "locked" || code === "fenced" || code === "noSpace" || code === "storage";
}

async function openNew(open: OpenJournal, request: OpenHubJournal, folder: string): Promise<OpenedJournal> {
  try {
    return await open(request);
  } catch (error) {
    throw error instanceof JournalError ? userError(error, folder) : error;
  }
}

type MarkFound = Mark | "damaged" | null;

async function openOld(
  request: OpenHubJournal,
  options: RecoverOptions & { mark: MarkFound },
): Promise<OpenedJournal> {
  const { folder, config, checkpoint, open, mark, warn } = options;
  const isThere = await hasJournal(folder);
  if (isThere && (await Deno.stat(request.path)).size === 0) throw emptyJournal(request.path);
  const hasLog = await exists(`${request.path}-wal`);
  const hasStored = checkpoint === null && (await checkpointNames(`${folder}/checkpoints`)).length > 0;
  if (!isThere && !hasLog && (mark !== null || hasStored)) {
    throw new JournalError("damaged", `The journal '${request.path}' is missing`);
  }
  const opened = await open(request);
  const { journal, recovered } = opened;
  if (recovered === null) {
    if (!isThere) return opened;
    await journal.close();
    throw emptyJournal(request.path);
  }
  const { phase, round, step } = recovered.state;
  const at = describe({ round, step });
  if (checkpoint !== null && isNewer(checkpoint, { round, step })) {
    await journal.close();
    const text = `The journal '${request.path}' is at ${at}, which is before the newest whole checkpoint`;
    throw new JournalError("outdated", text);
  }
  if (phase === "finished" && step < config.train.steps) {
    await journal.close();
    throw new JournalError("outdated", `The journal '${request.path}' is of a run that ended at ${at}`);
  }
  if (recovered.cut !== null) warn(recovered.cut);
  const missing = missingText(mark, { sequence: recovered.sequence, at });
  if (missing !== null) warn(missing);
  return opened;
}

/** What the journal may have lost unnoticed. */
function missingText(mark: MarkFound, { sequence, at }: { sequence: number; at: string }): string | null {
  if (mark === null || mark === "damaged") {
    const what = mark === null ? "gone" : "damaged";
    return `The mark beside the journal is ${what}, so lost entries at its end cannot be detected; it ends at ${at}`;
  }
  if (mark.sequence <= sequence) return null;
  const lost = mark.sequence - sequence;
  return `The journal lost its last ${lost} entries: the run was at ${describe(mark)}, and resumes from ${at}; ` +
    "the work they recorded will be done again";
}

/** Where the run resumes. If it cannot, throws and leaves the folder untouched. */
async function startWithout(error: JournalError, options: RecoverOptions & { mark: MarkFound }): Promise<string> {
  const { folder, checkpoint, mark, isFromModel = false } = options;
  if (checkpoint !== null) return `the checkpoint of ${describe(checkpoint)}`;
  const isYoung = mark === null || mark === "damaged" || mark.round === 0;
  const hasCheckpoints = (await checkpointNames(`${folder}/checkpoints`)).length > 0;
  if (error.code !== "foreign" && isYoung && !hasCheckpoints && !isFromModel) return "step 0: it had no checkpoint yet";
  const next = error.code === "foreign"
    ? "Continue with the version and the settings that wrote it until there is a checkpoint; nothing was changed"
    : "Restore the folder's journal or checkpoints from a copy, or begin another run in another folder; nothing was changed";
  throw new UserError(`${error.message}${markText(mark)}, and there is no whole checkpoint to resume from`, {
    next,
    cause: error,
  });
}

function markText(mark: MarkFound): string {
  return mark === null || mark === "damaged" ? "" : `; the run was at ${describe(mark)}`;
}

function describe({ round, step }: Progress): string {
  return `round ${round}, step ${step}`;
}

function isNewer(a: Progress, b: Progress): boolean {
  return a.round > b.round || (a.round === b.round && a.step > b.step);
}

function emptyJournal(path: string): JournalError {
  return new JournalError("damaged", `The journal '${path}' is empty`);
}

/** The epoch stays, so that the next journal's is higher. Returns the new paths. */
async function putJournalAside(folder: string): Promise<string[]> {
  const there = await Promise.all(fileNames.map((name) => exists(`${folder}/${name}`)));
  return await putAside({ folder, names: fileNames.filter((_, i) => there[i]) });
}

export async function removeJournal(folder: string): Promise<void> {
  for (const name of [...fileNames, epochPath(fileName)]) {
    if (await exists(`${folder}/${name}`)) await Deno.remove(`${folder}/${name}`);
  }
}

export function hasJournal(folder: string): Promise<boolean> {
  return exists(`${folder}/${fileName}`);
}

/** 0: unknown. */
export function markedStep(folder: string): number {
  const mark = readMark(markPath(`${folder}/${fileName}`));
  return mark === null || mark === "damaged" ? 0 : mark.step;
}

/** An older version without the folder's lock would keep writing. */
export function refuseWhileHeld(folder: string): void {
  try {
    refuseHeld(`${folder}/${fileName}`);
  } catch (error) {
    throw error instanceof JournalError ? userError(error, folder) : error;
  }
}

export function userError(error: JournalError, folder: string): UserError {
  const next = error.code === "locked"
    ? "Stop the other orchestrator first, or choose another folder with --data DIR"
    : error.code === "fenced"
    ? "This process has stopped, and the run continues in the other one; start it here again only after that one has ended"
    : `Make room or repair the folder, then resume the run with --data ${shellWord(folder)}`;
  return new UserError(error.message, { next, cause: error });
}

function hashOf(config: RunConfig): string {
  return createHash("sha256").update(JSON.stringify(lastingSettings(config))).digest("hex");
}
