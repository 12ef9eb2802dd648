/**
 * A log file with bounded disk use: at its limit it becomes `.1`, the old `.1` becomes `.2`, and the oldest is deleted.
 *
 * A file that another program moved away, as logrotate does, is left and a new one begun. Never fails the program: on a
 * full disk or a missing folder, lines are lost, and their number is the first line written afterwards.
 */

import { plural } from "../terminal/text/format.ts";

interface LogFile {
  readonly size: number;
  readonly identity: string | null;
  write(bytes: Uint8Array): number;
  close(): void;
}

/** Blocking, so that a line is written before the event it reports. */
export interface LogDisk {
  append(path: string): LogFile;
  identityAt(path: string): string | null;
  rename(from: string, to: string): void;
  remove(path: string): void;
}

interface RotatingLogOptions {
  readonly path: string;
  readonly bytes: number;
  readonly keep: number; // full files
  readonly disk?: LogDisk;
  /** For looking at most once a second whether the file is still at its path. @default it stays there */
  readonly steadyMs?: () => number;
  /** Without its end. */
  readonly firstLine?: () => string | null;
  /** Without its end; stands where so many lines are missing. */
  readonly lostLine?: (lines: number) => string;
  readonly onLost?: (error: Error) => void;
  readonly onRegained?: (lostLines: number) => void;
}

const lookMs = 1_000; // a program that moves a log waits longer before it compresses the old file

const lostSentence = (lines: number): string => `${plural(lines, "line")} missing here: the disk did not take more`;

export class RotatingLog {
  readonly #options: Required<Omit<RotatingLogOptions, "steadyMs">> & Pick<RotatingLogOptions, "steadyMs">;
  readonly #encoder = new TextEncoder();
  #file: LogFile | null = null;
  #size = 0;
  #lost = 0;
  #lookedMs = -Infinity;
  #isTorn = false; // the last line was only partly written

  constructor(options: RotatingLogOptions) {
    this.#options = {
      disk: realLogDisk,
      firstLine: () => null,
      lostLine: lostSentence,
      onLost: () => {},
      onRegained: () => {},
      ...options,
    };
  }

  /** Several lines stay together; false: they are lost. */
  write(text: string, lines = 1): boolean {
    const { lostLine, onLost, onRegained } = this.#options;
    const lost = this.#lost;
    try {
      this.#put(this.#encoder.encode(`${lost === 0 ? "" : `${lostLine(lost)}\n`}${text}\n`));
    } catch (error) {
      if (!isWorld(error)) throw error;
      this.#lost += lines;
      this.#letGo();
      if (lost === 0) onLost(error);
      return false;
    }
    this.#lost = 0;
    if (lost > 0) onRegained(lost);
    return true;
  }

  /** True: what is written next begins a file. */
  endFileAt(bytes: number): boolean {
    try {
      this.#open();
      if (this.#size < bytes) return this.#size === 0;
      this.#turn();
      this.#open();
    } catch (error) {
      if (!isWorld(error)) throw error; // the next write reports it
    }
    return this.#size === 0;
  }

  close(): void {
    this.#letGo();
  }

  #put(bytes: Uint8Array): void {
    this.#leaveMovedFile();
    let file = this.#open();
    if (this.#size > 0 && this.#size + bytes.length > this.#options.bytes) {
      this.#turn();
      file = this.#open();
    }
    if (this.#isTorn) this.#append(file, lineEnd);
    const first = this.#size === 0 ? this.#options.firstLine() : null;
    if (first !== null) this.#append(file, this.#encoder.encode(`${first}\n`));
    this.#append(file, bytes);
  }

  #append(file: LogFile, bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length;) {
      const count = file.write(bytes.subarray(at));
      at += count;
      this.#size += count;
      this.#isTorn = at < bytes.length;
    }
  }

  #leaveMovedFile(): void {
    const { disk, path, steadyMs } = this.#options;
    if (this.#file === null || this.#file.identity === null || steadyMs === undefined) return;
    const nowMs = steadyMs();
    if (nowMs - this.#lookedMs < lookMs) return;
    this.#lookedMs = nowMs;
    if (disk.identityAt(path) === this.#file.identity) return;
    this.#letGo();
    this.#isTorn = false;
  }

  #open(): LogFile {
    if (this.#file !== null) return this.#file;
    this.#file = this.#options.disk.append(this.#options.path);
    this.#size = this.#file.size;
    return this.#file;
  }

  #turn(): void {
    const { disk, path, keep } = this.#options;
    this.#letGo();
    this.#isTorn = false;
    disk.remove(keep === 0 ? path : `${path}.${keep}`);
    for (let i = keep - 1; i >= 1; i--) renameIfThere(disk, { from: `${path}.${i}`, to: `${path}.${i + 1}` });
    if (keep > 0) disk.rename(path, `${path}.1`);
  }

  #letGo(): void {
    this.#file?.close();
    this.#file = null;
  }
}

function renameIfThere(disk: LogDisk, { from, to }: { from: string; to: string }): void {
  try {
    disk.rename(from, to);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

const lineEnd = new Uint8Array([10]);

const isWorld = (error: unknown): error is Error => error instanceof Error && ("code" in error || isDenoError(error));

const isDenoError = (error: Error): boolean => Object.values(Deno.errors).some((kind) => error instanceof kind);

const identityOf = ({ dev, ino }: Deno.FileInfo): string | null => ino === null ? null : `${dev}:${ino}`;

export const realLogDisk: LogDisk = {
  append(path) {
    const file = Deno.openSync(path, { create: true, append: true, mode: 0o600 });
    const found = file.statSync();
    return {
      size: found.size,
      identity: identityOf(found),
      write: (bytes) => file.writeSync(bytes),
      close: () => file.close(),
    };
  },
  identityAt(path) {
    try {
      return identityOf(Deno.statSync(path));
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return null;
      throw error;
    }
  },
  rename: (from, to) => Deno.renameSync(from, to),
  remove(path) {
    try {
      Deno.removeSync(path);
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  },
};
