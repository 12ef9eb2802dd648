/**
 * A log file with bounded disk use: at its limit it becomes `.1`, the old `.1` becomes `.2`, and the oldest is deleted.
 *
 * Owns: the file, its size and rotation. Never fails the program: on a full disk or a missing folder, lines are lost,
 * and their number is the first line written afterwards. Invariant: all files together hold at most `keep` + 1 times
 * `bytes`, unless a single line is longer.
 */

export interface LogFile {
  readonly size: number;
  write(bytes: Uint8Array): number;
  close(): void;
}

/** Blocking, so that a line is written before the event it reports takes place. */
export interface LogDisk {
  append(path: string): LogFile;
  rename(from: string, to: string): void;
  /** A missing file is not an error. */
  remove(path: string): void;
}

export interface RotatingLogOptions {
  readonly path: string;
  readonly bytes: number; // of one file
  readonly keep: number; // number of full files kept beside it
  readonly disk?: LogDisk;
}

export class RotatingLog {
  readonly #options: Required<RotatingLogOptions>;
  readonly #encoder = new TextEncoder();
  #file: LogFile | null = null;
  #size = 0;
  #lost = 0;
  #isTorn = false; // the last line was only partly written

  constructor(options: RotatingLogOptions) {
    this.#options = { disk: realLogDisk, ...options };
  }

  /** One line without its end. */
  write(line: string): void {
    const lost = this.#lost === 0 ? "" : `${this.#lost} lines are missing here: they could not be written\n`;
    const bytes = this.#encoder.encode(`${this.#isTorn ? "\n" : ""}${lost}${line}\n`);
    try {
      this.#put(bytes);
      this.#lost = 0;
      this.#isTorn = false;
    } catch (error) {
      if (!isWorld(error)) throw error;
      this.#lost += 1;
      this.#letGo();
    }
  }

  close(): void {
    this.#letGo();
  }

  #put(bytes: Uint8Array): void {
    const { disk, path, bytes: most } = this.#options;
    this.#open();
    if (this.#size > 0 && this.#size + bytes.length > most) {
      this.#turn();
      this.#open();
    }
    const file = this.#file ?? disk.append(path);
    for (let at = 0; at < bytes.length;) {
      const count = file.write(bytes.subarray(at));
      at += count;
      this.#size += count;
      this.#isTorn = at < bytes.length;
    }
  }

  #open(): void {
    if (this.#file !== null) return;
    this.#file = this.#options.disk.append(this.#options.path);
    this.#size = this.#file.size;
  }

  #turn(): void {
    const { disk, path, keep } = this.#options;
    this.#letGo();
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

/** A system error, as opposed to our own bug. */
const isWorld = (error: unknown): boolean => error instanceof Error && ("code" in error || isDenoError(error));

const isDenoError = (error: Error): boolean => Object.values(Deno.errors).some((kind) => error instanceof kind);

export const realLogDisk: LogDisk = {
  append(path) {
    const file = Deno.openSync(path, { create: true, append: true, mode: 0o600 });
    return {
      size: file.statSync().size,
      write: (bytes) => file.writeSync(bytes),
      close: () => file.close(),
    };
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
