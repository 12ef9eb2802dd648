/**
 * Which tasks validators are asked to repeat in a calm swarm: the production machines in the simulator's virtual time,
 * numbers that are only names, equal machines.
 *
 * An undetected cheat changes nothing about what is drawn, because the draws come from the orchestrator's secret key
 * alone. So nobody cheats here, and cheats are laid over the draws afterwards (audit_rows.ts): one run serves every
 * share of cheated tasks.
 */

import { nextTurn } from "../../../../net/turns.ts";
import { assert } from "../../../../core/assert.ts";
import type { RunConfig } from "../../../../core/config/config.ts";
import type { TaskId } from "../../../../core/ids.ts";
import { orchestrator } from "../../../../core/orchestrator/machine.ts";
import { shapeFrom } from "../../sim/swarm_shape.ts";
import { SimulatedSwarm } from "../../sim/simulated_swarm.ts";
import { AuditBook, type AuditFlops } from "./audit_book.ts";

/** Of a stage, by what of its tasks can be repeated: a head's backward makes nothing to compare. */
export const places = ["head", "body", "tail"] as const;
export type Place = typeof places[number];

export interface WatchedMiner {
  readonly place: Place;
  readonly rounds: readonly (readonly TaskId[])[]; // tasks that validators were asked to repeat, of each round
}

export interface WatchedRun {
  readonly config: RunConfig;
  readonly miners: readonly WatchedMiner[];
  readonly minerFlops: number;
  readonly auditFlops: AuditFlops;
}

const plenty = 1e8; // steps, so that the run does not end by itself
const roundsAfter = 2; // until parameters of the last round have been shown and looked at
const forwardMs = 100;
const links = { delayMs: 1, bytesPerMs: 12_500, jitterMs: 0, resetMs: Infinity };
const mostMs = 1e12;

/** Watches so many rounds. Between rounds the process handles signals. */
export async function watchAudits(
  { config: given, rounds, signal }: { config: RunConfig; rounds: number; signal: AbortSignal },
): Promise<WatchedRun> {
  const config = { ...given, train: { ...given.train, steps: plenty } };
  const { pipeline: { stages }, swarm: { replicas }, train: { microbatchesPerStep }, seed } = config;
  const book = new AuditBook(config, rounds);
  const machine: typeof orchestrator = {
    ...orchestrator,
    assertInvariants() {}, // after every event; the simulator's own tests do that
    step(state, event, nowMs) {
      const effects = orchestrator.step(state, event, nowMs);
      for (const effect of effects) if (effect.type === "send") book.note(effect);
      return effects;
    },
  };
  const equal = { links, stagePaces: new Array<number>(stages).fill(1) };
  const shape = { ...shapeFrom(config), forwardMs, equal };
  const world = new SimulatedSwarm({ seed, miners: stages * replicas, shape, machine, keepsJournal: false });
  let steps = 0;
  for (let round = 1; round <= rounds + roundsAfter; round++) {
    const isThere = world.runUntil(() => world.hub.state.round >= round, mostMs);
    assert(isThere && world.hub.state.round === round, "A calm swarm merges round after round");
    if (round === rounds) steps = world.hub.state.roundFirstStep;
    await nextTurn();
    signal.throwIfAborted();
  }
  const miners = [...world.hub.state.members.values()].flatMap(({ node, stage }): WatchedMiner[] => {
    if (stage === null) return [];
    const ofRounds = Array.from({ length: rounds }, (_, round) => book.tasksOf(node, round));
    return [{ place: placeOf(stage, stages), rounds: ofRounds }];
  });
  const minerFlops = book.trained(steps * microbatchesPerStep);
  return { config, miners, minerFlops, auditFlops: book.flops };
}

const placeOf = (stage: number, stages: number): Place => stage === stages - 1 ? "tail" : stage === 0 ? "head" : "body";
