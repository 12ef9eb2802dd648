/**
 * The records of a run on disk, for people and tools and as the source of its view: `records.jsonl` in the run's folder, one JSON
 * line a record, `{"sequence", "atMs", "record"}`.
 *
 * Owns: the file and when it is written: in groups, after `groupMs` or `groupBytes`, not synced. What must survive a power cut
 * is in the journal. A full file becomes `records.jsonl.1` and the oldest file is deleted. Every file but the first begins with
 * a line `{"sequence", "atMs", "view"}`, so it can be folded by itself; the view already contains the records that follow it with
 * a sequence up to its own. Records that a full disk refuses are dropped, counted and reported; another such line follows them.
 */

import { present } from "../../../core/assert.ts";
import type { RunView } from "../../../core/view/view.ts";
import type { StampedRecord } from "../../../core/view/view_record.ts";
import type { Cancel, Timers } from "../../../net/timers.ts";
import { type LogDisk, RotatingLog } from "../../files/rotating_log.ts";
import { readRecordLog } from "./read_record_log.ts";
import { keptFiles, recordPath } from "../../files/record_files.ts";

export interface RecordLogOptions {
  readonly folder: string; // of the run
  readonly timers: Timers;
  readonly warn: (text: string) => void;
  readonly fileBytes?: number;
  readonly disk?: LogDisk;
}

/** A log ready to be appended to, and the view of its records. */
export interface OpenRecordLog {
  readonly log: RecordLog;
  readonly folder: string; // of the run
  readonly view: RunView;
  readonly sequence: number; // of the last record
}

const groupMs = 100;
const groupBytes = 2 ** 16; // characters, about
const defaultFileBytes = 2 ** 24;

/** Reads the log of earlier processes and cuts a torn last line off. An unreadable log is reported and costs only the history. */
export async function openRecordLog(options: RecordLogOptions): Promise<OpenRecordLog> {
  const { view, sequence, problem } = await readRecordLog(options.folder, { cuts: true });
  if (problem !== null) {
    options.warn(`The run's history is not shown because its record log cannot be read: ${problem}`);
  }
  const log = new RecordLog(options, { isNew: sequence === 0, isBroken: problem !== null });
  return { log, folder: options.folder, view, sequence };
}

export class RecordLog {
  readonly #file: RotatingLog;
  readonly #timers: Timers;
  #lines: string[] = []; // not written yet
  #waitingBytes = 0;
  #last: { entry: StampedRecord; view: RunView } | null = null;
  #isNew: boolean; // nothing is in any file
  #isBroken: boolean; // the records in the file cannot be folded
  #cancel: Cancel | null = null;

  constructor(options: RecordLogOptions, { isNew, isBroken }: { isNew: boolean; isBroken: boolean }) {
    const { folder, timers, warn, disk, fileBytes = defaultFileBytes } = options;
    const path = recordPath(folder);
    this.#timers = timers;
    this.#isNew = isNew;
    this.#isBroken = isBroken;
    this.#file = new RotatingLog({
      path,
      bytes: fileBytes,
      keep: keptFiles,
      ...(disk === undefined ? {} : { disk }),
      firstLine: () => this.#isNew ? null : this.#viewLine(),
      lostLine: (lost) => this.#viewLine(lost),
      onLost: ({ message }) =>
        warn(`Records cannot be written to '${path}'; the run continues without them: ${message}`),
      onRegained: (lost) => warn(`Records are written to '${path}' again; ${lost} are missing`),
    });
  }

  /** `view` already contains the record, and is kept to be written later. */
  append(entry: StampedRecord, view: RunView): void {
    const line = JSON.stringify(entry);
    this.#last = { entry, view };
    this.#lines.push(line);
    this.#waitingBytes += line.length;
    if (this.#waitingBytes >= groupBytes) return this.flush();
    this.#cancel ??= this.#timers.after(groupMs, () => this.flush());
  }

  flush(): void {
    this.#cancel?.();
    this.#cancel = null;
    if (this.#lines.length === 0) return;
    const lines = this.#isBroken ? [this.#viewLine(), ...this.#lines] : this.#lines;
    this.#file.write(lines.join("\n"), lines.length);
    this.#isNew = false;
    this.#isBroken = false;
    this.#lines = [];
    this.#waitingBytes = 0;
  }

  close(): void {
    this.flush();
    this.#file.close();
  }

  #viewLine(lost?: number): string {
    const { entry: { sequence, atMs }, view } = present(this.#last, "a line follows a record");
    return JSON.stringify({ sequence, atMs, lost, view });
  }
}
