/**
 * The proof, beside a verdict in the signed log, that a miner signed for wrong work. Its signature is checked only with
 * the first answer that finds it wrong: most work passes, and a check takes as long as a task of a small stage.
 */

import type { NodeId } from "../../ids.ts";
import type { VerdictEntry, WorkProof } from "../../ledger/entry.ts";
import { judgeGradient } from "../../score/gradient_verdict.ts";
import { judgeRepetition } from "../../score/verdict.ts";
import type { SignedStatement } from "../../statements/statement.ts";
import type { OrchestratorState } from "../state.ts";
import type { HeldReceipt } from "../../statements/receipt.ts";
import type { AuditRequest, GradientReplay, ReplayTask, SignedAnswer } from "./audit_state.ts";

/** The receipt with which the miner signed for the work. Null: the work passed, or no receipt was kept. */
export function receiptToCheck(
  { config }: OrchestratorState,
  { request, answer }: { request: AuditRequest; answer: SignedAnswer },
): SignedStatement | null {
  if (request.type === "replay" && answer.type === "replayed") {
    const { replay } = request;
    const { type } = judgeRepetition(replay, { found: answer, tolerance: config.validate.tolerance });
    return type === "failed" ? signedBy(replay.miner, replay.signed?.receipt ?? null) : null;
  }
  if (request.type === "gradient" && answer.type === "gradientRepeated" && answer.squareSum !== null) {
    const { replay } = request;
    const { squareSum: claimed, least } = replay;
    const { type } = judgeGradient(replay, { claimed, found: answer.squareSum, least });
    return type === "failed" ? signedBy(replay.miner, replay.receipt) : null;
  }
  return null;
}

function signedBy(signer: NodeId, receipt: HeldReceipt | null): SignedStatement | null {
  if (receipt === null) return null;
  const { signature, ...statement } = receipt;
  return { signer, statement: { type: "step", ...statement }, signature };
}

export function proofOfTask({ signed, input, gradient, output, losses }: ReplayTask): WorkProof | null {
  if (signed === null) return null;
  const { receipt, path } = signed;
  const work = { input: input?.hash ?? null, gradient: gradient?.hash ?? null, output: output?.hash ?? null, losses };
  return { ...stepOf(receipt), work, path };
}

export const proofOfGradient = ({ receipt }: GradientReplay): WorkProof | null =>
  receipt === null ? null : stepOf(receipt);

function stepOf({ step, previous, root, tasks, squareSum, signature }: HeldReceipt): WorkProof {
  return { step, previous, root, tasks, squareSum, signature };
}

export const proofWord = (proof: WorkProof | null): Pick<VerdictEntry, "proof"> => proof === null ? {} : { proof };
