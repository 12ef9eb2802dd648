/**
 * What a miner signs: at each step its results and gradient, at each merge its payload and the chain over its steps.
 *
 * Hashes and chain restart with an assignment, as in core/orchestrator/step/receipts.ts. The chain grows when a header
 * counts the step.
 */

import type { BlobRef } from "../ids.ts";
import { doneWork, unsigned, workHash } from "../statements/statement.ts";
import { nextHead } from "../statements/work_chain.ts";
import { rootOf } from "../statements/work_tree.ts";
import { present } from "../assert.ts";
import type { MinerEffect, MinerResult } from "./event.ts";
import type { Job, MinerState } from "./state.ts";

export function noteDelivered(
  state: MinerState,
  { job: { task, step, direction, input, second }, result: { output, losses } }: {
    job: Extract<Job, { type: "runTask" }>;
    result: Extract<MinerResult, { type: "runTask" }>;
  },
): void {
  if (state.delivered.step !== step) state.delivered = { step, hashes: new Map() };
  const stage = present(state.stage, "a miner with tasks has a stage");
  const work = doneWork({ task, stage, direction, losses }, { input, second, output });
  state.delivered.hashes.set(task, workHash(work));
}

export function sealStep(
  state: MinerState,
  { job: { round, step, request, delivered }, squareSum }: {
    job: Extract<Job, { type: "sealStep" }>;
    squareSum: number;
  },
): MinerEffect {
  const { head: previous, log } = state;
  const root = rootOf(delivered.flatMap((task) => state.delivered.hashes.get(task) ?? []));
  state.sealedLink = { round, step, root };
  return {
    type: "send",
    message: {
      ...{ type: "stepSealed", step, request, tasks: log.length, gradientSquareSum: squareSum },
      ...{ root, signature: unsigned },
    },
    attachments: [],
    signs: { type: "step", round, previous },
  };
}

export function extendChain(state: MinerState, step: number): void {
  const { sealedLink } = state;
  if (sealedLink?.step === step) state.head = nextHead(state.head, sealedLink);
  state.sealedLink = null;
}

export function commitPayload(
  { head }: MinerState,
  { round, slices, payload }: { round: number; slices: readonly BlobRef[]; payload: string },
): MinerEffect {
  return {
    type: "send",
    message: { type: "payloadCommitted", round, slices, payload, head, signature: unsigned },
    attachments: [],
    signs: { type: "round" },
  };
}
