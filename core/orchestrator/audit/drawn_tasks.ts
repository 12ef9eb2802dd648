/**
 * Which tasks of a step validators repeat: sampled from those that a validator can repeat, once its miners have
 * delivered.
 *
 * Out of scope: which miners of a later step are drawn (shown_states.ts), and whether a gradient is recomputed
 * (gradient_audits.ts).
 */

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
 * Tasks of the step to repeat, of these miners or of all. Miners without one are left out. A microbatch is sampled, not
 * a task: if one miner did its forward and its backward, both are repeated, one right after the other, so a cheat in
 * either direction is found, and the second costs no third forward.
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
 * A head's backward has no output to compare, so two of its forwards are repeated instead of a forward and a backward,
 * which detects one wrong task in ten as soon. Two forwards cost less than one pass. A tail's pass is one task that
 * costs a whole pass: two are repeated only in a round's first step, enough to detect one wrong task in ten within ten
 * rounds at 95 %.
 */
function drawsOf(candidates: readonly ReplayTask[], { isFirst }: { isFirst: boolean }): number {
  const isHead = candidates.every(({ stage, direction, then }) =>
    stage === 0 && direction === "forward" && then === null
  );
  const isTail = candidates.every(({ direction }) => direction === "turnaround");
  return isHead || (isTail && isFirst) ? 2 : 1;
}

/** Tasks of one miner: each backward follows its forward. In the order of a step's wires, where forwards come first. */
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
 * The work of each miner in the step that a validator can repeat, including miners that have left. In a later step only
 * work of its present assignment: a miner that reconnected within the step loaded its stage again, and opens other
 * parameters than those it worked with before.
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

/** The head's backward has neither output nor losses to compare. */
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
