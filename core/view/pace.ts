/**
 * How long a miner's tasks take, as the orchestrator measures it: what its link and its machine give.
 *
 * Owns: the mean of every few tasks, so that it changes seldom. Of a task's time, the miner says how much it computed; the rest went
 * by on the links both ways and in its queue, so the shortest rest is the nearest to what its link alone takes.
 */

/** What a miner's last tasks took, in milliseconds: means, and the least time away from its device. */
export interface PaceView {
  readonly tookMs: number; // from sending a task to its result
  readonly computeMs: number; // of these, on the device, by the miner's word
  readonly leastAwayMs: number; // of a task, on the links both ways and in the miner's queue
}

/** Of tasks that are in no `PaceView` yet; sums. */
export interface OpenPace {
  tasks: number;
  tookMs: number;
  computeMs: number;
  leastAwayMs: number;
}
