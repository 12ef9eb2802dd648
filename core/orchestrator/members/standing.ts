/** What the hub remembers of a hotkey's conduct beyond its membership, as data. Owns the shape; the rules are in blame.ts. */

import type { ToldDuty } from "../../protocol/notice.ts";

/** Duties a member owes the others; `tasks` are expired leases. */
export type Duty = "tasks" | ToldDuty;
export type MergeDuty = Exclude<ToldDuty, "confirming">;

/** A hotkey's record, which outlives its membership: blame.ts. */
export interface Standing {
  strikes: number; // proven faults, until none was added for some rounds
  struckRound: number | null; // the last one's
  readonly withheld: Record<"tasks" | "confirming", number>; // recently; for tasks, in a row
  lapses: number; // rounds in which it withheld a merge duty, less what later rounds made up for
  lapsedRound: number | null; // the last of these
  absentRound: number | null; // round in which it last owed an answer, or took gradients away, by being away
  refused: number; // messages of this round
  late: number; // of these, results that came too late
  round: number; // of the newest entry
  restUntilRound: number; // without a stage until then
  vainRound: number | null; // of its last contradiction that changed nothing
  suspectedRound: number | null; // round of its last unusual but unproven behaviour
}

/** Messages of a round. */
export interface Talk {
  asked: number; // messages that what it was sent in this round may need
  heard: number; // messages from it
  joins: number; // of these; each is answered by more than it says, so they have a bound of their own
}
