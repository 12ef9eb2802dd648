/**
 * Carries out a verdict: the run's facts and records, and the ban. Pay that one validator withholds is withheld in its
 * own scores.
 */

import { unreachable } from "../../assert.ts";
import type { NodeId } from "../../ids.ts";
import type { VerdictEntry } from "../../ledger/entry.ts";
import { type Verdict, verdictFacts } from "../../score/verdict.ts";
import { type OrchestratorEffect, record } from "../event.ts";
import { convict } from "../members/blame.ts";
import type { OrchestratorState } from "../state.ts";
import { noteVerdict } from "../step/scale_book.ts";

export type ValidatorsWord = Pick<VerdictEntry, "work" | "step" | "parameters" | "signature" | "proof">;

/** `validator`: null if none repeated the work, so the verdict is inconclusive. */
export function actOnVerdict(
  state: OrchestratorState,
  { verdict, validator, word = {} }: { verdict: Verdict; validator: NodeId | null; word?: ValidatorsWord },
): OrchestratorEffect[] {
  const { facts } = state;
  if (verdict.type === "passed") facts.verdictsPassed += 1;
  if (verdict.type === "failed") facts.verdictsFailed += 1;
  if (verdict.type !== "inconclusive" && validator !== null) {
    noteVerdict(state.scales, { miner: verdict.miner, validator, passed: verdict.type === "passed" });
  }
  switch (verdict.action) {
    case "none":
    case "withholdPay":
      break;
    case "expel":
      convict(state, { node: verdict.miner, reason: verdict.reason });
      break;
    default:
      return unreachable(verdict.action);
  }
  const published = verdictFacts(verdict);
  if (published === null || validator === null) return [];
  const { round, ...rest } = published;
  const verdictOf = { type: "verdict" as const, round, validator, ...rest };
  return [record(verdictOf), { type: "log", entry: { ...verdictOf, ...word } }];
}
