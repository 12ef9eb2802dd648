/** A hotkey's record, which outlives its membership, as data; the rules are in blame.ts. */

import type { ToldDuty } from "../../protocol/notice.ts";

/** `tasks`: expired leases. */
export type Duty = "tasks" | ToldDuty;
export type MergeDuty = Exclude<ToldDuty, "confirming">;

export interface Standing {
  strikes: number; // proven faults, until none was added for some rounds
  struckRound: number | null; // of the last strike
  readonly withheld: Record<"tasks" | "confirming", number>; // recently; for tasks, in a row
  lapses: number; // rounds with a missed merge deadline, less what later rounds made up for
  lapsedRound: number | null; // the last of these
  absentRound: number | null; // last disconnected with a pending answer, or took gradients away
  refused: number; // messages of this round
  late: number; // of these, late results
  round: number; // of the newest entry
  restUntilRound: number; // suspended, without a stage until then
  vainRound: number | null; // of its last contradiction that changed nothing
  suspectedRound: number | null; // of its last unusual but unproven behaviour
}

export interface Talk {
  asked: number; // messages that the requests of this round may need
  heard: number; // messages from it
  joins: number; // of these; each is answered by a longer message
}
