/**
 * The result of an attack: when it was detected, whether the attacker was banned, what it earned, what it did to the
 * model and to honest members.
 *
 * Owns: the books of one attacked run. Out of scope: running it (run_redteam.ts).
 */

import { present } from "../../../core/assert.ts";
import type { NodeId } from "../../../core/ids.ts";
import type { OrchestratorState } from "../../../core/orchestrator/state.ts";
import type { RunRecord } from "../../../core/protocol/record.ts";
import type { WorldScores } from "../world/world.ts";

/** Members of an attacked run by what they are. */
export interface Sides {
  readonly miners: readonly NodeId[]; // hostile ones
  readonly machines: number; // that the hostile miners have
  readonly validators: readonly NodeId[]; // hostile ones
  readonly peers: readonly NodeId[]; // honest miners of the same stage
}

export interface AttackBook {
  readonly sides: Sides;
  readonly fromRound: number; // the first that is attacked
  detectedRound: number | null;
  lastState: Pick<OrchestratorState, "expelled" | "members"> | null;
  readonly pay: Map<number, Map<NodeId, ReadonlyMap<NodeId, number>>>; // round -> validator -> share of each miner
}

export const openBook = (sides: Sides, fromRound: number): AttackBook => ({
  ...{ sides, fromRound, detectedRound: null, lastState: null },
  pay: new Map(),
});

export function noteRecord(book: AttackBook, record: RunRecord, state: OrchestratorState): void {
  book.lastState = state;
  const { miners, validators } = book.sides;
  if (book.detectedRound !== null || ![...miners, ...validators].some((node) => isAccused(node, record))) return;
  book.detectedRound = state.round;
}

/** A record that says what this node did wrong. That it left by itself, or was slower than another, is nothing wrong. */
function isAccused(node: NodeId, record: RunRecord): boolean {
  switch (record.type) {
    case "verdict":
      return record.miner === node && !record.passed;
    case "blamed":
    case "mergeLate":
      return record.node === node;
    case "faultSeen":
      return record.node === node && record.code !== "staleResult" && record.code !== "wrongPhase";
    case "sliceDisputed":
      return record.liar === node;
    case "mergeRetaken":
      return record.suspects.includes(node);
    default:
      return false;
  }
}

/** Only a validator's newest scores of a round count. */
export function noteScores({ pay }: AttackBook, { validator, round, scores }: WorldScores): void {
  const total = scores.reduce((sum, { score }) => sum + score, 0);
  const shares = new Map(scores.map(({ miner, score }) => [miner, total === 0 ? 0 : score / total]));
  const ofRound = pay.get(round) ?? new Map<NodeId, ReadonlyMap<NodeId, number>>();
  pay.set(round, ofRound.set(validator, shares));
}

/** What the chain would pay for a round: the median over validators of equal stake. */
function payOf({ pay, fromRound }: AttackBook, node: NodeId): number {
  return [...pay].filter(([round]) => round >= fromRound).reduce((sum, [, ofValidators]) => {
    const shares = [...ofValidators.values()].map((ofMiners) => ofMiners.get(node) ?? 0).sort((a, b) => a - b);
    return sum + present(shares[(shares.length - 1) >> 1], "a round with scores has a validator");
  }, 0);
}

export interface AttackRow {
  readonly name: string;
  readonly rounds: number; // that were attacked
  readonly roundsToDetection: number | null; // 1: in the first of them; null: never
  readonly ejected: boolean; // all hostile miners; with none, all hostile validators
  readonly lossGap: number; // held-out loss at the end less that of a calm run, nats
  readonly honestEjected: number;
  readonly payShareOfHonest: number | null; // of a machine, beside an honest one of the stage; null: no miner was hostile
}

export function rowOf(
  book: AttackBook,
  { name, rounds, loss, calmLoss, honest }: {
    name: string;
    rounds: number;
    loss: number;
    calmLoss: number;
    honest: readonly NodeId[];
  },
): AttackRow {
  const { sides: { miners, machines, validators, peers }, fromRound, detectedRound, lastState } = book;
  const { expelled, members } = present(lastState, "a run has records");
  const isOut = (node: NodeId) => expelled.has(node);
  const mean = (nodes: readonly NodeId[], count: number) =>
    nodes.reduce((sum, node) => sum + payOf(book, node), 0) / count;
  return {
    name,
    rounds: rounds - fromRound,
    roundsToDetection: detectedRound === null ? null : Math.max(1, detectedRound - fromRound + 1),
    ejected: (miners.length > 0 ? miners : validators).every(isOut),
    lossGap: loss - calmLoss,
    honestEjected: honest.filter((node) => isOut(node) || !members.has(node)).length,
    payShareOfHonest: miners.length === 0 ? null : mean(miners, machines) / mean(peers, peers.length),
  };
}
