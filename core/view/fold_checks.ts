/** Each validator's checks over the whole run, in bounded size. Unknown nodes have none. */

import type { ChecksView, RunView } from "./view.ts";
import type { RecordOf } from "./view_record.ts";

const noChecks = (): ChecksView => ({
  passed: 0,
  failed: 0,
  evaluated: 0,
  lastAtMs: 0,
  lastFailed: null,
  lastLoss: null,
});

export function noteCheck(view: RunView, record: RecordOf<"verdict" | "evaluated">, atMs: number): void {
  const node = view.nodes[record.validator];
  if (node === undefined) return;
  const checks = node.checks ??= noChecks();
  checks.lastAtMs = atMs;
  const { round } = record;
  if (record.type === "evaluated") {
    checks.evaluated += 1;
    checks.lastLoss = { round, loss: Number.isFinite(record.loss) ? record.loss : null };
  } else if (record.passed) checks.passed += 1;
  else {
    checks.failed += 1;
    checks.lastFailed = { round, miner: record.miner };
  }
}
