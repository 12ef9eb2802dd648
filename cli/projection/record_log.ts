/**
 * The records of a run on disk, for people and tools and as the source of its view: `records.jsonl` in the run's folder, one JSON
 * line a record, `{"sequence", "atMs", "record"}`.
 *
 * Owns: the file and when it is written: in groups, by the time `groupMs` is over or `groupBytes` wait, not synced. What must
 * survive a power cut is in the journal. A full file turns into `records.jsonl.1` and the oldest goes; the next one begins with a
 * line `{"sequence", "atMs", "view"}`, so each file can be folded alone. Records up to its sequence that follow it are in the
 * view already. A disk that takes nothing costs records: they are counted, said, and made up for by another such line.
 */

import { present } from "../../core/assert.ts";
import type { RunView } from "../../core/view/view.ts";
import type { StampedRecord } from "../../core/view/view_record.ts";
import type { Cancel, Timers } from "../../net/timers.ts";
import { type LogDisk, RotatingLog } from "../service/rotating_log.ts";
import { readRecordLog } from "./read_record_log.ts";
import { keptFiles, recordPath } from "./record_files.ts";

export interface RecordLogOptions {
  readonly folder: string; // of the run
  readonly timers: Timers;
  readonly warn: (text: string) => void;
  readonly fileBytes?: number;
  readonly disk?: LogDisk;
}

/** A log that may be appended to, and the view of everything that is in it. */
export interface OpenRecordLog {
  readonly log: RecordLog;
  readonly view: RunView;
  readonly sequence: number; // of the last record
}

const groupMs = 100;
const groupBytes = 2 ** 16; // characters, about
const defaultFileBytes = 2 ** 24;

/** Reads what the last life left and cuts a torn last line off. What cannot be read is said and costs the history alone. */
export async function openRecordLog(options: RecordLogOptions): Promise<OpenRecordLog> {
  const { view, sequence, problem } = await readRecordLog(options.folder, { cuts: true });
  if (problem !== null) options.warn(`The history of the run is not shown as ${problem}`);
  return { log: new RecordLog(options, { isNew: sequence === 0, isBroken: problem !== null }), view, sequence };
}

export class RecordLog {
  readonly #file: RotatingLog;
  readonly #timers: Timers;
  #lines: string[] = []; // that wait
  #waitingBytes = 0;
  #last: { entry: StampedRecord; view: RunView } | null = null;
  #isNew: boolean; // nothing is in any file
  #isBroken: boolean; // what is in the file cannot be folded
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
      onLost: ({ message }) => warn(`Records are not written to '${path}' and the run goes on without: ${message}`),
      onRegained: (lost) => warn(`Records are written to '${path}' again: ${lost} are missing`),
    });
  }

  /** `view`: with this record, and later with those that follow. */
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
