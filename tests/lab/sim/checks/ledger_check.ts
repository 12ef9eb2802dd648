/**
 * The entries of a run's signed log follow from each other, whatever fails: steps in order, pay from steps, scores from pay.
 */

import { scoresEntry, takeEntry } from "../../../../core/ledger/ledger.ts";
import { type Ledger, openLedger } from "../../../../core/ledger/ledger_state.ts";
import type { LogEntry, MachineEntry } from "../../../../core/ledger/entry.ts";
import { entryOf } from "../../../../core/orchestrator/run_log.ts";
import { nodeId } from "../../../../core/ids.ts";
import type { RunRecord } from "../../../../core/protocol/record.ts";
import { signatureProblem, signedParts } from "../../../../cli/observe/ledger/entry_signatures.ts";
import { isSymbolic } from "../processes/symbolic_signature.ts";
import { must } from "./violation.ts";

export class LedgerCheck {
  readonly ledger: Ledger = openLedger();

  onRecord(record: RunRecord): void {
    const isFalse = record.type === "blamed" && record.code === "unauthenticated"; // nobody here signs what it did not do
    must(!isFalse, "nobody is blamed for what it signs", () => record.type === "blamed" ? record.detail : "");
    const entry = entryOf(record);
    if (entry !== null) this.onLog(entry);
  }

  onLog(entry: MachineEntry): void {
    this.#take(entry);
    if (entry.type === "round") this.#take(scoresEntry(this.ledger));
  }

  hubRestarted(at: { step: number; round: number }): void {
    this.#take({ type: "begun", run: "simulated", hub: nodeId(""), ...at, isJournaled: true });
    must(this.ledger.isWhole, "the log of a run has all its steps", () => `step ${at.step} of round ${at.round}`);
  }

  #take(entry: LogEntry): void {
    const problem = takeEntry(this.ledger, entry);
    const wrong = signatureProblem(signedParts(entry), isSymbolic);
    must(wrong === null, "what members found has their signatures", () => wrong ?? "");
    must(problem === null, "the entries of the log follow from each other", () => problem ?? "");
  }
}
