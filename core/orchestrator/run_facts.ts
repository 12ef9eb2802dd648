/** A run's counters and summary, across restarts. */

import type { Evaluation } from "./audit/audit_state.ts";

export interface Counters {
  microbatchesIssued: number;
  microbatchesCredited: number;
  reLeases: number; // tasks handed out again after a loss, a failure or a deadline
  speculations: number; // tasks handed to a second miner while the first still worked
  tokens: number;
  disagreements: number; // replicas whose hash was not the agreed one
  wireBytesForward: number;
  wireTokensForward: number;
  wireBytesBackward: number;
  wireTokensBackward: number;
  mergeBytes: number; // uploaded payloads and reduced slices, summed over miners
  mergeMiners: number; // miner-rounds in that sum
  restarts: number; // of the orchestrator
  merges: number; // merged rounds; without the journal, the checkpoint's round and those since
  rewinds: number; // rounds that were restarted or rolled back, whatever the reason
  roundsLost: number; // of these: a stage had no payload, or no parameters after the merge
  gradientsLost: number; // accepted gradient tasks of merged rounds that no payload contained
}

/** Losses in nats per token. */
export interface RunFacts {
  lossFirst: number | null;
  lossLast: number | null;
  heldOutFirst: number | null;
  heldOutLast: { round: number; loss: number } | null;
  /** The newest round on which validators disagree. */
  heldOutDisputed: { round: number; answers: readonly Evaluation[] } | null;
  verdictsPassed: number;
  verdictsFailed: number;
}

export function newCounters(): Counters {
  return {
    microbatchesIssued: 0,
    microbatchesCredited: 0,
    reLeases: 0,
    speculations: 0,
    tokens: 0,
    disagreements: 0,
    wireBytesForward: 0,
    wireTokensForward: 0,
    wireBytesBackward: 0,
    wireTokensBackward: 0,
    mergeBytes: 0,
    mergeMiners: 0,
    restarts: 0,
    merges: 0,
    rewinds: 0,
    roundsLost: 0,
    gradientsLost: 0,
  };
}

export function newFacts(): RunFacts {
  return {
    lossFirst: null,
    lossLast: null,
    heldOutFirst: null,
    heldOutLast: null,
    heldOutDisputed: null,
    verdictsPassed: 0,
    verdictsFailed: 0,
  };
}
