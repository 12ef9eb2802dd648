/** What each miner has earned and has in escrow, from the log's newest files. */

import type { NodeId } from "../../../core/ids.ts";
import type { LogEntry } from "../../../core/ledger/entry.ts";
import { roundsUntilDue } from "../../../core/score/work_score.ts";
import type { PublicEarnings } from "../public/public_shape.ts";
import { eachEntry } from "./member_account.ts";

type RoundEntry = Extract<LogEntry, { type: "round" }>;

const mostMiners = 64; // nobody reads a longer list

export async function runEarnings(folder: string): Promise<PublicEarnings | null> {
  const reports: RoundEntry[] = [];
  await eachEntry(folder, (entry) => {
    if (entry.type === "round") reports.push(entry);
  });
  return earningsOf(reports);
}

export function earningsOf(reports: readonly RoundEntry[]): PublicEarnings | null {
  const [first, newest] = [reports[0], reports.at(-1)];
  if (first === undefined || newest === undefined) return null;
  const sums = new Map<NodeId, { earned: number; inEscrow: number }>();
  const dueRound = newest.isLast === true ? Infinity : newest.round - roundsUntilDue;
  const lostFrom = new Map<NodeId, number>(); // forfeited from here on
  for (const report of reports.toReversed()) {
    for (const { miner, fromRound } of report.forfeits ?? []) lostFrom.set(miner, fromRound);
    report.miners.forEach((miner, i) => {
      const sum = sums.get(miner) ?? { earned: 0, inEscrow: 0 };
      sums.set(miner, sum);
      const isDue = report.round <= dueRound;
      if (report.round >= (lostFrom.get(miner) ?? Infinity)) return;
      if (!isDue && newest.expelled.includes(miner)) return;
      sum[isDue ? "earned" : "inEscrow"] += report.units[i] ?? 0;
    });
  }
  const miners = [...sums].map(([node, sum]) => ({ node: String(node), ...sum }));
  const total = ({ earned, inEscrow }: { earned: number; inEscrow: number }) => earned + inEscrow;
  miners.sort((a, b) => total(b) - total(a) || (a.node < b.node ? -1 : 1));
  const round = reports.findLast((report) => report.miners.length > 0)?.round ?? newest.round;
  return { sinceRound: first.round, round, miners: miners.slice(0, mostMiners) };
}
