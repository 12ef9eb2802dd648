/** Which effects and records enter a run's signed log. */

import type { OrchestratorEffect } from "../../../core/orchestrator/event.ts";
import { entryOf } from "../../../core/orchestrator/run_log.ts";
import type { RunRecord } from "../../../core/protocol/record.ts";
import { type LedgerLog, type LedgerLogOptions, openLedgerLog } from "./ledger_log.ts";

export class RunLedger {
  readonly log: LedgerLog;

  static async open(options: LedgerLogOptions): Promise<RunLedger> {
    return new RunLedger(await openLedgerLog(options));
  }

  constructor(log: LedgerLog) {
    this.log = log;
  }

  onReplayed(effects: readonly OrchestratorEffect[]): void {
    for (const effect of effects) {
      const entry = effect.type === "log" ? effect.entry : effect.type === "record" ? entryOf(effect.record) : null;
      if (entry !== null) this.log.replay(entry);
    }
  }

  onRecord(record: RunRecord): void {
    if (record.type === "runFinished") return this.log.end(record);
    const entry = entryOf(record);
    if (entry !== null) this.log.take(entry);
  }
}
