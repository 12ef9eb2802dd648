/** `iota runs --own`: this machine's runs, the newest first. */

import type { CommandContext } from "../../terminal/command.ts";
import { stamp } from "../../terminal/output/log.ts";
import { decimal, padEnd, plural, printable } from "../../terminal/text/format.ts";
import { describeOwnRun, type OwnRun, ownRuns } from "./own_runs.ts";

export async function listOwnRuns(context: CommandContext): Promise<number> {
  const { output } = context;
  const runs: OwnRun[] = [];
  for (const place of await ownRuns(context)) runs.push(await describeOwnRun(place));
  for (const { atMs, ...run } of runs) output.event({ type: "ownRun", ...run, at: new Date(atMs).toISOString() });
  for (const line of ownRunLines(runs)) output.line(line);
  const running = runs.filter(({ state }) => state === "running").length;
  output.answer(
    { runs: runs.length, running, newest: runs[0]?.folder ?? null },
    runs.length === 0
      ? "No run is on this machine: begin one with iota swarm"
      : `${plural(runs.length, "run")} on this machine`,
  );
  return 0;
}

function ownRunLines(runs: readonly OwnRun[]): string[] {
  const rows = runs.map(({ folder, size, step, steps, loss, state, atMs }) => [
    printable(folder),
    printable(size ?? "?"),
    `step ${step === null ? "?" : decimal(step)} of ${steps === null ? "?" : decimal(steps)}`,
    loss === null ? "no loss yet" : `loss ${loss.toFixed(3)}`,
    state,
    stamp(new Date(atMs), true).slice(0, "2026-11-21 14:03".length),
  ]);
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows.map((row) => row.map((cell, column) => padEnd(cell, widths[column]!)).join("  ").trimEnd());
}
