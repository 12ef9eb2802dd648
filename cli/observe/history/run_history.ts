/**
 * Any moment of a run from its record log: the view exactly as folded after a record. An index of views saves folds; it
 * takes at most `indexBytes`, and becomes coarser instead. Calls run one after another. Damage costs only what was
 * damaged, and `gaps` tells it.
 */

import { emptyView, type RunView } from "../../../core/view/view.ts";
import type { StampedRecord } from "../../../core/view/view_record.ts";
import { viewProblem } from "../projection/view_shape.ts";
import { LogFold, type LogPlace } from "./log_fold.ts";
import { readLines } from "../ledger/log_lines.ts";
import type { PublicSpan } from "../public/public_shape.ts";
import { recordFileNames } from "../../files/record_files.ts";

export interface ViewMoment {
  readonly view: RunView;
  readonly sequence: number;
  readonly atMs: number;
  readonly isDoubtful: boolean;
}

interface HistoryOptions {
  /** @default 32 MiB */
  readonly indexBytes?: number;
  readonly onRecord?: (entry: StampedRecord, view: RunView) => void;
}

interface IndexEntry {
  readonly file: HistoryFile;
  readonly end: number; // offset of the next line
  readonly sequence: number;
  readonly atMs: number;
  readonly isDoubtful: boolean;
  readonly view: string; // JSON
}

const mostGaps = 32;

export class RunHistory {
  readonly #files: HistoryFiles;
  readonly #options: Required<Pick<HistoryOptions, "indexBytes">> & HistoryOptions;
  #index: IndexEntry[] = [];
  #everyRecords = 256;
  #fold: LogFold;
  #gaps: { from: number; to: number }[] = [];
  #missing = 0;
  #damaged = 0;
  #cursor: { fold: LogFold; file: HistoryFile; end: number } | null = null; // at the last moment asked for
  #turn: Promise<unknown> = Promise.resolve();

  constructor(folder: string, options: HistoryOptions = {}) {
    this.#files = new HistoryFiles(folder);
    this.#options = { indexBytes: 2 ** 25, ...options };
    this.#fold = this.#newFold();
  }

  refresh(onBytes: (done: number, total: number) => void = () => {}): Promise<PublicSpan> {
    return this.#inTurn(() => this.#refresh(onBytes));
  }

  /** The moment of a record, else of the next that can be shown, else the last. `show` must copy: the view changes. */
  at<Shown>(sequence: number, show: (moment: ViewMoment) => Shown): Promise<Shown | null> {
    return this.#inTurn(async () => {
      const moment = await this.#seek(sequence);
      return moment === null ? null : show(moment);
    });
  }

  /** Oldest first; null: a line too long. */
  eachLine(onLine: (text: string | null) => void): Promise<void> {
    return this.#inTurn(async () => {
      await this.#refresh();
      for (const { file } of this.#files.files) await readLines(file, 0, (text) => onLine(text));
    });
  }

  get newest(): ViewMoment {
    const { view, sequence, atMs, isDoubtful } = this.#fold;
    return { view, sequence, atMs, isDoubtful };
  }

  close(): Promise<void> {
    return this.#inTurn(() => Promise.resolve(this.#files.close()));
  }

  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.#turn.then(work);
    this.#turn = result.catch(() => "its caller gets the error");
    return result;
  }

  async #refresh(onBytes: (done: number, total: number) => void = () => {}): Promise<PublicSpan> {
    if (await this.#files.find() === "other") this.#forget();
    const { files } = this.#files;
    this.#index = this.#index.filter(({ file }) => files.includes(file));
    if (this.#cursor !== null && !files.includes(this.#cursor.file)) this.#cursor = null;
    const sizes = await Promise.all(files.map(async ({ file }) => (await file.stat()).size));
    const total = sizes.reduce((sum, size) => sum + size, 0);
    let before = 0;
    for (const [i, file] of files.entries()) {
      file.readBytes = await readLines(file.file, file.readBytes, (text, end) => {
        this.#fold.take(text);
        this.#addToIndex(file, end);
        onBytes(before + end, total);
      });
      before += sizes[i]!;
    }
    return this.#span();
  }

  #span(): PublicSpan {
    const { sequence: last, atMs: lastAtMs } = this.#fold;
    const { sequence: first, atMs: firstAtMs } = this.#index[0] ?? this.#fold;
    const [gaps, missing, damaged] = [[...this.#gaps], this.#missing, this.#damaged];
    return { first, last, firstAtMs, lastAtMs, gaps, missing, damaged };
  }

  #forget(): void {
    this.#index = [];
    this.#cursor = null;
    this.#gaps = [];
    this.#missing = 0;
    this.#damaged = 0;
    this.#fold = this.#newFold();
  }

  #newFold(): LogFold {
    const { onRecord = () => {} } = this.#options;
    return new LogFold(undefined, {
      onRecord,
      onMissing: (from, to) => {
        if (from === 1) return; // no longer kept, as `first` says
        this.#missing += to - from + 1;
        if (this.#gaps.length < mostGaps) this.#gaps.push({ from, to });
      },
      onDamaged: () => void (this.#damaged += 1),
    });
  }

  #addToIndex(file: HistoryFile, end: number): void {
    const { view, sequence, atMs, isDoubtful, isWhole } = this.#fold;
    const last = this.#index.at(-1);
    if (!isWhole || sequence === 0) return;
    if (last !== undefined && last.file === file && sequence < last.sequence + this.#everyRecords) return;
    if (last !== undefined && sequence === last.sequence) return; // the file begins with its view
    this.#index.push({ file, end, sequence, atMs, isDoubtful, view: JSON.stringify(view) });
    const bytes = this.#index.reduce((sum, entry) => sum + entry.view.length, 0);
    if (bytes <= this.#options.indexBytes || this.#index.length < 4) return;
    this.#everyRecords *= 2;
    this.#index = this.#index.filter((entry, i) => i % 2 === 0 || entry.file !== this.#index[i - 1]!.file);
  }

  async #seek(sequence: number): Promise<ViewMoment | null> {
    if (sequence > this.#fold.sequence) await this.#refresh();
    const entry = this.#index.findLast((entry) => entry.sequence <= sequence) ?? this.#index[0];
    if (entry === undefined) return null;
    const cursor = this.#cursor;
    const isNear = cursor !== null && cursor.fold.sequence <= sequence && cursor.fold.sequence >= entry.sequence;
    let { fold, file, end } = isNear ? cursor : { ...entry, fold: new LogFold(placeOf(entry)) };
    this.#cursor = null; // invalid while it moves
    while (fold.sequence < sequence) {
      end = await readLines(file.file, end, (text) => {
        fold.take(text);
        return fold.sequence < sequence;
      });
      const next = this.#files.files[this.#files.files.indexOf(file) + 1];
      if (fold.sequence >= sequence || next === undefined) break;
      [file, end] = [next, 0];
    }
    this.#cursor = { fold, file, end };
    const { view, atMs, isDoubtful } = fold;
    const shown = viewProblem(view) === null ? view : emptyView();
    return { view: shown, sequence: fold.sequence, atMs, isDoubtful: isDoubtful || shown !== view };
  }
}

const placeOf = ({ view, ...entry }: IndexEntry): LogPlace => ({ ...entry, view: JSON.parse(view) });

/** Kept open and known by its place on the disk, because names rotate. */
interface HistoryFile {
  readonly file: Deno.FsFile;
  readonly key: string;
  readBytes: number;
}

/** `grown`: perhaps without the oldest files. `other`: another log. */
type FoundFiles = "grown" | "other";

class HistoryFiles {
  readonly #folder: string;
  files: HistoryFile[] = [];

  constructor(folder: string) {
    this.#folder = folder;
  }

  async find(): Promise<FoundFiles> {
    const before = this.files;
    const listed = await this.#list(before);
    const known = before.filter((file) => listed.includes(file));
    const isTail = known.every((file, i) => file === before[before.length - known.length + i]);
    const isHead = known.every((file, i) => file === listed[i]);
    const hasShrunk = await someAsync(known, async ({ file, readBytes }) => (await file.stat()).size < readBytes);
    for (const file of before) if (!listed.includes(file)) file.file.close();
    this.files = listed;
    const isSame = isTail && isHead && !hasShrunk && (known.length > 0 || before.length === 0);
    if (!isSame) { for (const file of listed) file.readBytes = 0; }
    return isSame ? "grown" : "other";
  }

  close(): void {
    for (const { file } of this.files) file.close();
    this.files = [];
  }

  /** Newest name first: a file renamed meanwhile is met twice, never missed. */
  async #list(known: readonly HistoryFile[]): Promise<HistoryFile[]> {
    const found: HistoryFile[] = [];
    for (const name of recordFileNames) {
      const file = await openIfThere(`${this.#folder}/${name}`);
      if (file === null) continue;
      const { dev, ino } = await file.stat();
      const key = ino === null ? name : `${dev}:${ino}`;
      const other = [...known, ...found].find((each) => each.key === key);
      if (other === undefined) found.unshift({ file, key, readBytes: 0 });
      else {
        file.close();
        if (!found.includes(other)) found.unshift(other);
      }
    }
    return found;
  }
}

async function openIfThere(path: string): Promise<Deno.FsFile | null> {
  try {
    return await Deno.open(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
}

async function someAsync<Item>(items: readonly Item[], test: (item: Item) => Promise<boolean>): Promise<boolean> {
  for (const item of items) if (await test(item)) return true;
  return false;
}
