/**
 * How long a miner's tasks take. It reports its compute time; the rest passed on the links and in its queue, so the
 * shortest rest estimates the link.
 */

/** Milliseconds, means of every few tasks. */
export interface PaceView {
  readonly tookMs: number; // from lease to result
  readonly computeMs: number; // of these, by the miner's report
  readonly leastAwayMs: number; // on both links and in the queue
}

/** Tasks in no `PaceView` yet. */
export interface OpenPace {
  tasks: number;
  tookMs: number;
  computeMs: number;
  leastAwayMs: number;
}
