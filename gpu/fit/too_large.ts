/** Stages that a device cannot hold. For the user; not our bug. */

import type { StageOptions } from "../compute.ts";

interface TooLarge {
  readonly label: string;
  readonly action: string; // such as "allocate 'logits' as a buffer"
  readonly bytes: number;
  readonly limitBytes: number;
}

export class TooLargeError extends RangeError {
  override name = "TooLargeError";
  readonly label: string;
  readonly bytes: number;
  readonly limitBytes: number;

  constructor({ label, action, bytes, limitBytes }: TooLarge) {
    super(
      `Cannot ${action} must be at most ${limitBytes} bytes on this adapter: current value is ${bytes}. ` +
        "Use more stages or fewer sequences per microbatch",
    );
    this.label = label;
    this.bytes = bytes;
    this.limitBytes = limitBytes;
  }
}

const mebibytes = (bytes: number) => `${Math.ceil(bytes / 2 ** 20)} MiB`;

export class TooLittleMemoryError extends Error {
  override name = "TooLittleMemoryError";

  static allowed({ bytes, memoryBytes }: { bytes: number; memoryBytes: number }): TooLittleMemoryError {
    return new TooLittleMemoryError(
      `Cannot hold this stage: it takes ${mebibytes(bytes)}, even if activations are computed again, and ` +
        `${mebibytes(memoryBytes)} are allowed`,
    );
  }

  /** By a driver, whatever its limits say. */
  static given(
    { adapter, bytes, limitBytes, reason }: { adapter: string; bytes: number; limitBytes: number; reason: string },
  ): TooLittleMemoryError {
    return new TooLittleMemoryError(
      `Cannot hold this stage: ${adapter} ran out of memory (${reason}) before it gave the ${mebibytes(bytes)} ` +
        `that the stage takes, although each buffer may have ${mebibytes(limitBytes)}`,
    );
  }
}

/** Rejects with the last refusal. A rejecting `build` has freed its memory. */
export async function withLessKept<T>(options: StageOptions, build: (options: StageOptions) => Promise<T>): Promise<T> {
  let refusal: unknown;
  for (const attempt of attempts(options)) {
    try {
      return await build(attempt);
    } catch (error) {
      if (!(error instanceof TooLittleMemoryError)) throw error;
      refusal = error;
    }
  }
  throw refusal;
}

function attempts(options: StageOptions): StageOptions[] {
  const { activationBytes = 0, recomputes = false } = options;
  const bare: StageOptions = { ...options, activationBytes: 0 };
  return [options, ...activationBytes > 0 ? [bare] : [], ...recomputes ? [] : [{ ...bare, recomputes: true }]];
}
