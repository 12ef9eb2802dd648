/**
 * How long a miner's tasks take, as the orchestrator measures it: the effect of its link and its machine.
 *
 * Owns: the mean of every few tasks, so that it seldom changes. The miner reports its compute time of a task; the rest
 * passed on the links both ways and in its queue, so the shortest rest is the best estimate for the link alone.
 */

/** What a miner's last tasks took, in milliseconds: means, and the least time away from its device. */
export interface PaceView {
  readonly tookMs: number; // from sending a task to its result
  readonly computeMs: number; // of these, on the device, as reported by the miner
  readonly leastAwayMs: number; // of a task, on the links both ways and in the miner's queue
}

/** Sums over tasks that are in no `PaceView` yet. */
export interface OpenPace {
  tasks: number;
  tookMs: number;
  computeMs: number;
  leastAwayMs: number;
}
