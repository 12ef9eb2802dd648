/**
 * The records of a run on disk, the source of its view: `records.jsonl`, one JSON line a record, `{"sequence", "atMs",
 * "record"}`.
 *
 * Not synced: what must survive a power cut is in the journal. A full file becomes `records.jsonl.1`. Every file but
 * the first begins with a line `{"sequence", "atMs", "view"}`, so that it can be folded by itself. Records that a full
 * disk refuses are dropped and counted; another such line follows.
 */

import { present } from "../../../core/assert.ts";
import { emptyView, type RunView } from "../../../core/view/view.ts";
import type { StampedRecord } from "../../../core/view/view_record.ts";
import type { Cancel, Timers } from "../../../net/timers.ts";
import { type LogDisk, RotatingLog } from "../../files/rotating_log.ts";
import { keptFiles, recordFileNames, recordPath } from "../../files/record_files.ts";
import { cutTornEnd, readWholeLines } from "../../terminal/text/whole_lines.ts";
import { foldForeign, parseLine, wholeView } from "./log_line.ts";
import { viewProblem } from "./view_shape.ts";

export interface RecordLogOptions {
  readonly folder: string;
  readonly timers: Timers;
  readonly warn: (text: string) => void;
  readonly fileBytes?: number;
  readonly disk?: LogDisk;
}

export interface OpenRecordLog {
  readonly log: RecordLog;
  readonly folder: string;
  readonly view: RunView;
  readonly sequence: number;
}

const groupMs = 100;
const groupBytes = 2 ** 16; // about
const defaultFileBytes = 2 ** 24;

/** Cuts off a torn last line. An unreadable log costs only the history. */
export async function openRecordLog(options: RecordLogOptions): Promise<OpenRecordLog> {
  const { view, sequence, problem } = await readRecordLog(options.folder, { cuts: true });
  if (problem !== null) {
    options.warn(`The run's history is not shown because its record log cannot be read: ${problem}`);
  }
  const log = new RecordLog(options, { isNew: sequence === 0, isBroken: problem !== null });
  return { log, folder: options.folder, view, sequence };
}

class RecordLog {
  readonly #file: RotatingLog;
  readonly #timers: Timers;
  #lines: string[] = [];
  #waitingBytes = 0;
  #last: { entry: StampedRecord; view: RunView } | null = null;
  #isNew: boolean;
  #isBroken: boolean; // the file's records cannot be folded
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

  /** `view` contains the record; it may be written later. */
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

interface ReadRecords {
  readonly view: RunView;
  readonly sequence: number; // 0: none
  readonly problem: string | null;
}

export async function readRecordLog(folder: string, { cuts = false } = {}): Promise<ReadRecords> {
  try {
    for (const name of recordFileNames) {
      const path = `${folder}/${name}`;
      const file = await readWholeLines(path);
      if (file === null) continue;
      if (cuts) await cutTornEnd(path, file);
      if (file.lines.length > 0) return foldLines(file.lines);
    }
    return { view: emptyView(), sequence: 0, problem: null };
  } catch (error) {
    return { view: emptyView(), sequence: 0, problem: textOf(error) };
  }
}

function foldLines(lines: readonly string[]): ReadRecords {
  let view = emptyView();
  let sequence = 0;
  let problem: string | null = null;
  for (const line of lines) {
    const entry = parseLine(line);
    if (entry === null) continue;
    if (entry.view !== undefined) {
      const whole = wholeView(entry.view);
      problem = viewProblem(whole);
      if (problem === null) view = whole;
    } else if (entry.record !== undefined && entry.sequence > sequence) {
      problem = foldForeign(view, { ...entry, record: entry.record }) ?? problem;
    }
    sequence = Math.max(sequence, entry.sequence);
  }
  problem = problem ?? viewProblem(view);
  return { view: problem === null ? view : emptyView(), sequence, problem };
}

const textOf = (error: unknown): string => error instanceof Error ? error.message : String(error);
