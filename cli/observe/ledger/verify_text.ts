/** What was checked of a run's log, and its caveats, in sentences. */

import { plural } from "../../terminal/text/format.ts";
import { startText } from "./ledger_reader.ts";
import { hubSigns, type VerifiedLedger } from "./verify_ledger.ts";

/** `isOtherHub`: not the log that was asked for. */
export function textOf(found: VerifiedLedger, { isOtherHub = false } = {}): string[] {
  const { run, hub, lines, scores, steps, repeatedSteps, rounds, verdicts, wrong } = found;
  const { draws, commitments, proofs, unprovenVerdicts, signatures, unsigned } = found;
  if (lines === 0 && wrong !== null) return [verdictOf(found)];
  return [
    ...(isOtherHub ? [] : [verdictOf(found)]),
    `Run ${run}, orchestrator ${hub}`,
    ...(found.from === null ? [] : [`It began from the model ${startText(found.from)}`]),
    `${plural(lines, "line")} in a sequence without a gap: ${plural(steps, "step")}${
      repeatedSteps > 0 ? ` and ${repeatedSteps} of them again` : ""
    }, ${plural(rounds, "round")}, ${plural(verdicts, "verdict")}; ` +
    `${plural(scores, "score")} computed again and equal`,
    `${plural(draws, "round")} revealed the key of their draws as they had committed to it` +
    (draws < rounds ? `; ${rounds - draws} did not commit to one` : ""),
    `${
      plural(signatures, "valid signature")
    } of members, ${commitments} of them on commitments of miners to a round; ` +
    `${plural(proofs, "failed verdict")} about work that its miner signed` +
    (unprovenVerdicts > 0 ? `; ${unprovenVerdicts} have no such proof and are the orchestrator's word` : "") +
    (unsigned > 0 ? `; ${unsigned} verdicts or losses have none and are the orchestrator's word` : ""),
    ...caveatsOf(found),
  ];
}

function verdictOf(found: VerifiedLedger): string {
  const { wrong, signedLine } = found;
  if (wrong !== null) return `WRONG: ${wrongText(wrong)}`;
  if (caveatsOf(found).length === 0) return "OK: the log is complete and untampered";
  return signedLine === 0
    ? "UNSIGNED: every line follows from the one before, but nobody has signed them"
    : "OK as far as it goes: its signed lines are untampered, but the log is not complete";
}

const wrongText = ({ line, why }: NonNullable<VerifiedLedger["wrong"]>) => `the first wrong line is ${line}: ${why}`;

export function caveatsOf(found: VerifiedLedger): string[] {
  const { firstLine, lines, signedLine, wrong, unprovenRounds, lostLines, tornBytes, isEnded, foreignHead } = found;
  return [
    ...(firstLine > 1
      ? [`The log begins with line ${firstLine}: older lines have been deleted to bound its size`]
      : []),
    ...(signedLine > 0 && !hubSigns(found)
      ? [`Signed up to line ${signedLine}: whoever has had the file may have written or changed later lines`]
      : []),
    ...(signedLine === 0 && lines > 0
      ? [
        `No line is signed yet${
          firstLine > 1 ? "" : ", as the first round has not ended"
        }: anybody may have written them`,
      ]
      : []),
    ...(wrong === null && !isEnded
      ? ["It does not say that the run is over: the run goes on, or was killed, or the log's end has been cut off"]
      : []),
    ...(unprovenRounds > 0
      ? [`${plural(unprovenRounds, "round")} cannot be recomputed from their steps, which are not all in the log`]
      : []),
    ...(lostLines > 0
      ? [`${plural(lostLines, "line")} missing: not enough room on the orchestrator's disk, or lost by it`]
      : []),
    ...(foreignHead === null ? [] : [
      `The head beside the log is of another run, ${foreignHead}: it cannot tell whether lines are missing at the log's end`,
    ]),
    ...(tornBytes > 0 ? [`The log ends in an unfinished line of ${plural(tornBytes, "byte")}`] : []),
  ];
}
