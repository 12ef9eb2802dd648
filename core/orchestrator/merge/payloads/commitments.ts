/**
 * Miners' commitments with their payloads: the chain over their steps and the payload's hash, signed.
 *
 * The orchestrator knows both: another head or a false signature is a proven fault, and the payload is left out,
 * unpaid.
 */

import { fault } from "../../../fault.ts";
import type { NodeId } from "../../../ids.ts";
import type { PayloadCommitted } from "../../../protocol/merge_messages.ts";
import type { SignedStatement } from "../../../statements/statement.ts";
import type { OrchestratorEffect } from "../../event.ts";
import { blame } from "../../members/blame.ts";
import type { Member, OrchestratorState } from "../../state.ts";
import type { Commitment, StageMerge } from "../merge_state.ts";
import { withdrawPayload } from "../participants.ts";

export function commitmentOf({ head }: Member, message: PayloadCommitted): Commitment {
  const { payload, signature } = message;
  return { head: message.head, payload, signature, isOurs: message.head === head };
}

export function signedCommitment(
  { round, node, commitment: { head, payload, signature } }: { round: number; node: NodeId; commitment: Commitment },
): SignedStatement {
  return { signer: node, statement: { type: "round", round, head, payload }, signature };
}

/** Null: it is valid. */
export function refuseCommitment(
  state: OrchestratorState,
  { merge, node, isSigned }: { merge: StageMerge; node: NodeId; isSigned: boolean },
): OrchestratorEffect[] | null {
  const commitment = merge.commitments.get(node);
  if (commitment === undefined || (commitment.isOurs && isSigned)) return null;
  withdrawPayload(merge, node);
  state.roundUnits.delete(node);
  const why = commitment.isOurs
    ? `it is not signed by ${node} over this payload`
    : `its head ${commitment.head} does not cover the steps that the orchestrator counted`;
  const detail = `The commitment of a payload of round ${state.round} is false: ${why}`;
  return blame(state, { node, fault: fault("unauthenticated", detail) });
}

export function logCommitments(round: number, stages: readonly StageMerge[]): OrchestratorEffect[] {
  const all = stages.flatMap(({ commitments, payloads, checking }) =>
    [...commitments].filter(([node]) => payloads.has(node) && !checking.has(node))
  );
  if (all.length === 0) return [];
  const entry = {
    ...{ type: "committed" as const, round },
    miners: all.map(([node]) => node),
    heads: all.map(([, { head }]) => head),
    payloads: all.map(([, { payload }]) => payload),
    signatures: all.map(([, { signature }]) => signature),
  };
  return [{ type: "log", entry }];
}
