/** Which tasks of a step validators repeat: sampled once its miners have delivered. */

import { present } from "../../assert.ts";
import type { MicrobatchId, NodeId } from "../../ids.ts";
import { nextBelow } from "../../prng.ts";
import type { OrchestratorState } from "../state.ts";
import { chainLink } from "../../statements/chain.ts";
import { receiptsOf } from "../step/receipts.ts";
import { minerAt, type StepOutcome } from "../step/step_outcome.ts";
import type { StepWork } from "../step/step_state.ts";
import type { ReplayTask } from "./audit_state.ts";

/**
 * `of`: null for all miners. Samples microbatches: if one miner did the forward and the backward, both are repeated in
 * a row, so a cheat in either direction is found without a third forward.
 */
export function drawTasks(
  state: OrchestratorState,
  { outcome, work, of }: { outcome: StepOutcome; work: StepWork; of: ReadonlySet<NodeId> | null },
): Map<NodeId, ReplayTask[]> {
  const { replaysPerMiner } = state.config.validate;
  const drawn = new Map<NodeId, ReplayTask[]>();
  if (replaysPerMiner === 0 || of?.size === 0) return drawn;
  for (const [node, replays] of replayable(state, { outcome, isLater: of !== null })) {
    if (of?.has(node) === false) continue;
    const candidates = inPasses(replays);
    const count = Math.min(replaysPerMiner * drawsOf(candidates, { isFirst: of === null }), candidates.length);
    const take = () => candidates.splice(nextBelow(state.stream, candidates.length), 1);
    const taken = Array.from({ length: count }, take).flat();
    const tasks = taken.flatMap(({ task, then }) => then === null ? [task] : [task, then.task]);
    const receipts = receiptsOf(state, { work, node, tasks });
    const signed = (replay: ReplayTask): ReplayTask => ({
      ...replay,
      signed: receipts.get(replay.task) ?? null,
      then: replay.then === null ? null : signed(replay.then),
    });
    drawn.set(node, taken.map(signed));
  }
  return drawn;
}

/**
 * A head's backward has no output to compare. Two of its forwards are repeated instead: they cost less than one pass
 * and detect one wrong task in ten as soon. A tail's task costs a whole pass: two only in a round's first step detect
 * one wrong task in ten within ten rounds at 95 %.
 */
function drawsOf(candidates: readonly ReplayTask[], { isFirst }: { isFirst: boolean }): number {
  const isHead = candidates.every(({ stage, direction, then }) =>
    stage === 0 && direction === "forward" && then === null
  );
  const isTail = candidates.every(({ direction }) => direction === "turnaround");
  return isHead || (isTail && isFirst) ? 2 : 1;
}

/** Joins each backward to its forward. `replays`: of one miner, forwards first. */
function inPasses(replays: readonly ReplayTask[]): ReplayTask[] {
  const forwards = new Map<MicrobatchId, ReplayTask>();
  const alone: ReplayTask[] = [];
  for (const replay of replays) {
    const forward = forwards.get(replay.microbatch);
    if (replay.direction === "forward") forwards.set(replay.microbatch, replay);
    else if (forward !== undefined) forwards.set(replay.microbatch, { ...forward, then: replay });
    else alone.push(replay);
  }
  return [...forwards.values(), ...alone];
}

/**
 * Includes miners that have left. A miner that reconnected within a later step loaded its stage again and opens other
 * parameters than before, so only work of its present assignment counts.
 */
function replayable(
  state: OrchestratorState,
  { outcome, isLater }: { outcome: StepOutcome; isLater: boolean },
): Map<NodeId, ReplayTask[]> {
  const byMiner = new Map<NodeId, ReplayTask[]>();
  for (const [index, wires] of (outcome.wires ?? []).entries()) {
    for (const [position, wire] of wires.entries()) {
      const replay = replayTask(state, { outcome, index, position });
      if (replay === null) continue;
      if (isLater && wire?.assignment !== state.members.get(replay.miner)?.assignment) continue;
      const own = byMiner.get(replay.miner);
      if (own === undefined) byMiner.set(replay.miner, [replay]);
      else own.push(replay);
    }
  }
  return byMiner;
}

/** Null also for a head's backward, which has neither output nor losses to compare. */
function replayTask(
  state: OrchestratorState,
  { outcome, index, position }: { outcome: StepOutcome; index: number; position: number },
): ReplayTask | null {
  const pathway = present(outcome.pathways[index], "every microbatch has a pathway");
  const wires = present(outcome.wires?.[index], "an audited outcome has its wires");
  const made = wires[position] ?? null;
  const { stage, direction } = chainLink(state.stages.length, position);
  if (pathway.isRemade || state.replaced.has(stage)) return null;
  if (made === null || (made.ref === null && direction !== "turnaround")) return null;
  return {
    round: outcome.round,
    miner: minerAt(outcome, present(pathway.makers[position], "every position has a maker")).node,
    task: made.task,
    microbatch: pathway.microbatch,
    stage,
    direction,
    input: stage === 0 ? null : wires[stage - 1]?.ref ?? null,
    gradient: direction === "backward" ? wires[position - 1]?.ref ?? null : null,
    output: made.ref,
    losses: direction === "turnaround" ? pathway.losses : null,
    change: null,
    signed: null,
    then: null,
  };
}
