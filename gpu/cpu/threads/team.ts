/** The threads that compute one stage. With one thread nothing is shared, and a job is one call. */

import { assert } from "../../../core/assert.ts";
import { gemmFloats } from "../layout/gemm.ts";
import type { Hand, Job } from "../jobs/job.ts";
import { handOf, operations } from "../jobs/operations.ts";
import { compiledKernels, type CpuKernels, cpuKernels } from "../kernels/cpu_kernels.ts";
import type { CpuMemory } from "../layout/memory.ts";
import type { StartHelpers } from "./helper_messages.ts";
import { JobBoard } from "./job_board.ts";

const mostThreads = 256;

/** Estimated time on one thread. */
export interface Sharing {
  readonly leastNs: number;
  readonly leastRangeNs: number;
}

const usualSharing: Sharing = { leastNs: 60_000, leastRangeNs: 10_000 }; // waking a helper takes 10 to 100 us
const leastWork = 10; // of a range, in multiples of its fixed cost
const rangesPerThread = 4; // so that a delayed thread takes fewer

interface TeamOptions {
  readonly threads?: number; // @default 1
  readonly sharing?: Sharing | undefined;
}

export class Team {
  readonly threads: number;
  readonly #sharing: Sharing;
  readonly #memory: CpuMemory;
  readonly #scratch: number;
  readonly #hand: Hand;
  readonly #board: JobBoard | null; // null: one thread

  constructor(memory: CpuMemory, { threads = 1, sharing = usualSharing }: TeamOptions = {}) {
    const isCount = Number.isInteger(threads) && threads >= 1 && threads <= mostThreads;
    assert(isCount, `Cannot compute as 'threads' must be 1 to ${mostThreads}: current value is ${threads}`);
    this.threads = threads;
    this.#sharing = sharing;
    this.#memory = memory;
    this.#scratch = memory.scratch("packed panels", threads * gemmFloats).offset;
    const { memory: shared } = memory;
    this.#hand = handOf({ index: 0, memory: shared, kernels: cpuKernels(shared), scratch: this.#scratch });
    this.#board = threads === 1 ? null : new JobBoard(threads);
  }

  get kernels(): CpuKernels {
    return this.#hand.kernels;
  }

  /** Until then this thread does all by itself. */
  async start(startHelpers: StartHelpers): Promise<void> {
    if (this.#board === null || this.#memory.isPaper) return;
    const { memory } = this.#memory;
    await startHelpers({
      ...{ memory, module: compiledKernels(memory), scratch: this.#scratch },
      ...{ board: this.#board.memory, helpers: this.threads - 1 },
    });
  }

  run(job: Job): void {
    const grain = this.#grainOf(job);
    const board = this.#board;
    if (board === null || grain >= job.units) {
      operations[job.operation](this.#hand, job.numbers)(0, job.units);
      return;
    }
    board.open(job, { grain });
    try {
      board.work(this.#hand);
    } catch (error) {
      board.fail(String(error)); // others may still use this memory
      throw error;
    }
    board.finish();
  }

  check(): void {
    this.#board?.check();
  }

  close(): void {
    this.#board?.close();
  }

  #grainOf({ units, unitNs, rangeNs = 0 }: Job): number {
    const { leastNs, leastRangeNs } = this.#sharing;
    if (this.threads === 1 || units * unitNs < leastNs) return units;
    const worthwhileNs = Math.max(leastRangeNs, leastWork * rangeNs);
    const ofThread = Math.floor(units * unitNs / this.threads / worthwhileNs);
    return Math.ceil(units / (this.threads * Math.min(rangesPerThread, Math.max(1, ofThread))));
  }
}
