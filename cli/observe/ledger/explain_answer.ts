/** The answer of `iota explain` about a miner in three lines: what it earned, what is in escrow, and why. */

import type { MinerHistory, RoundEarnings } from "../../../core/ledger/miner_history.ts";
import { roundsUntilDue } from "../../../core/score/work_score.ts";
import { decimal, plural } from "../../terminal/text/format.ts";
import { dueOf, reasonsOfRound } from "./explain_text.ts";

/** In units of a mean stage's forward. */
export interface Earned {
  readonly earned: number; // counted in scores, or paid when they were
  readonly inEscrow: number; // credited, and not yet due
  readonly lost: number; // credited once, then forfeited before it vested, or by a ban
}

export function earnedBy({ rounds }: MinerHistory): Earned {
  const sum = (those: (round: RoundEarnings) => boolean) =>
    rounds.filter(those).reduce((total, { credited }) => total + credited, 0);
  const isLost = ({ isForfeited, isExpelled }: RoundEarnings) => isForfeited || isExpelled;
  return {
    earned: sum((round) => round.isDue && !isLost(round)),
    inEscrow: sum((round) => !round.isDue && !isLost(round)),
    lost: sum(isLost),
  };
}

export function answerText(history: MinerHistory): string[] {
  const { earned, inEscrow, lost } = earnedBy(history);
  return [
    `Earned     ${units(earned)}${shareText(history)}`,
    `In escrow  ${units(inEscrow)}${escrowText(history)}${lost > 0 ? `; ${units(lost)} lost` : ""}`,
    `Why        ${whyText(history)}`,
  ];
}

const units = (count: number): string => `${decimal(count)} ${count === 1 ? "unit" : "units"}`;

/** Of all scores, when the log says how large they are. */
function shareText({ rounds, end }: MinerHistory): string {
  const share = end?.shareOfScores ?? rounds.findLast(({ shareOfScores }) => shareOfScores !== null)?.shareOfScores;
  if (share === undefined || share === null) return "";
  return `, ${(100 * share).toFixed(1)} % of all scores ${end === null ? "now" : "at the run's end"}`;
}

function escrowText({ rounds, isExpelled }: MinerHistory): string {
  const waiting = rounds.filter(({ isDue, isForfeited }) => !isDue && !isForfeited);
  const last = waiting.at(-1);
  if (last === undefined || isExpelled) return "";
  return `; the last of it counts once round ${last.round + roundsUntilDue} is reported, or when the run ends`;
}

function whyText({ events, node, rounds, isExpelled }: MinerHistory): string {
  if (isExpelled) return "it was proven to lie and was banned: its unpaid work and all later work count for nothing";
  if (rounds.length === 0) return "no round that it worked in has ended";
  const verdicts = events.flatMap((event) => event.type === "verdict" && event.miner === node ? [event] : []);
  const wrong = verdicts.filter(({ passed }) => !passed).length;
  const work = `${plural(rounds.reduce((total, { tasks }) => total + tasks, 0), "task")} in ${
    plural(rounds.length, "round")
  }`;
  const checked = verdicts.length === 0
    ? "none was repeated by a validator"
    : `${decimal(verdicts.length)} repeated by validators, ${wrong === 0 ? "none" : decimal(wrong)} wrong`;
  const reduced = rounds.filter((round) =>
    round.isForfeited || round.credited < round.earned || dueOf(round) < round.earned
  );
  const latest = reduced.at(-1);
  if (latest === undefined) return `${work}, all credited in full; ${checked}`;
  const [reason = "part of it is in no merge"] = reasonsOfRound({ ...latest, isDue: true });
  return `${work}, ${decimal(rounds.length - reduced.length)} of them credited in full; ${checked}; ` +
    `round ${latest.round}: ${reason}`;
}
