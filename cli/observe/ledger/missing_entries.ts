/**
 * Which replayed journal entries a log lacks: those after its last ones (`recent`, as text). If its very last one was
 * not replayed, all are missing, and perhaps others before them.
 */

import type { MachineEntry } from "../../../core/ledger/entry.ts";
import type { Ledger } from "../../../core/ledger/ledger_state.ts";

interface MissingEntries {
  readonly entries: readonly MachineEntry[];
  readonly isJoined: boolean; // the log ends where they begin
}

export function missingEntries(replayed: readonly MachineEntry[], recent: readonly string[]): MissingEntries {
  const texts = replayed.map((entry) => JSON.stringify(entry));
  for (let end = replayed.length; end > 0; end--) {
    const shared = Math.min(end, recent.length);
    if (shared === 0) break;
    if (texts.slice(end - shared, end).every((text, i) => text === recent[recent.length - shared + i])) {
      return { entries: replayed.slice(end), isJoined: true };
    }
  }
  return { entries: replayed, isJoined: false };
}

interface Place {
  readonly step: number;
  readonly round: number;
}

/**
 * Where the missing entries begin, if a step or report is lost between the log and them, or `end`. Null: they follow.
 */
export function gapBefore(
  { nextStep, open }: Pick<Ledger, "nextStep" | "open">,
  { entries, end }: { entries: readonly MachineEntry[]; end: Place },
): Place | null {
  const at = entries.findIndex(({ type }) => type === "step");
  const first = at === -1 ? end : entries[at] as Extract<MachineEntry, { type: "step" }>;
  const leading = at === -1 ? entries : entries.slice(0, at);
  const undone = leading.findLast((entry) => entry.type === "undone");
  const isClosed = undone !== undefined || leading.some(({ type }) => type === "round");
  const isOtherRound = !isClosed && open.some(({ round }) => round !== first.round);
  const expected = undone?.type === "undone" ? undone.toStep : nextStep;
  return first.step !== expected || isOtherRound ? { step: first.step, round: first.round } : null;
}
