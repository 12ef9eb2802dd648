/** `iota verify`: checks a run's signed log offline and names the first line that does not follow. */

import { verifySignature } from "../../chain/wallet/hotkey.ts";
import type { CommandContext } from "../command.ts";
import { UsageError, UserError } from "../output/errors.ts";
import { ledgerPath } from "./ledger_files.ts";
import { type VerifiedLedger, verifyLedger } from "./verify_ledger.ts";

export async function runVerify({ options, output, positionals: [place] }: CommandContext): Promise<number> {
  if (place === undefined) {
    throw new UsageError("Cannot verify as a run's folder or its log must be given", {
      next: "For example: iota verify runs/demo",
    });
  }
  const path = await logPathOf(place);
  const found = await verifyLedger(path, { verify: verifySignature });
  if (found === null || isEmpty(found)) throw missingLog(path);
  const { wrong, ...counts } = found;
  const wanted = options.text("hub");
  const otherHub = wanted !== undefined && (wanted !== found.hub || found.signedLine === 0);
  for (const line of textOf(found)) output.line(line);
  if (otherHub) {
    const by = found.signedLine === 0 ? "nobody, as its first round has not ended" : found.hub;
    output.log.error(`The log must be signed by ${wanted}: it is signed by ${by}`);
  }
  output.answer({ log: path, ...counts, firstWrongLine: wrong?.line ?? null, why: wrong?.why ?? null }, "");
  return wrong === null && !otherHub ? 0 : 1;
}

/** Of a run's folder, or of the log itself. */
export async function logPathOf(place: string): Promise<string> {
  try {
    return (await Deno.stat(place)).isDirectory ? ledgerPath(place) : place;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) throw missingLog(place);
    throw error;
  }
}

export function missingLog(path: string): UserError {
  return new UserError(`Cannot read a signed log as '${path}' must exist and have lines`, {
    next: "Give the folder of a run that an orchestrator of this version has kept, for example runs/demo",
  });
}

/** Made by a process that was killed before its first entry, or cut off; it proves nothing. */
export const isEmpty = ({ lines, wrong, lostLines }: VerifiedLedger): boolean =>
  lines === 0 && wrong === null && lostLines === 0;

function textOf(found: VerifiedLedger): string[] {
  const { run, hub, firstLine, lines, scores, steps, rounds, verdicts, wrong } = found;
  const {
    draws,
    commitments,
    proofs,
    unprovenVerdicts,
    signatures,
    unsigned,
    signedLine,
    unprovenRounds,
    lostLines,
    tornBytes,
    isEnded,
  } = found;
  const last = firstLine + lines - 1;
  if (lines === 0 && wrong !== null) return [`The first wrong line is ${wrong.line}: ${wrong.why}`];
  return [
    `Run ${run}, hub ${hub}`,
    `${lines} lines follow from each other: ${steps} steps, ${rounds} rounds, ${verdicts} verdicts; ` +
    `${scores} scores computed again and equal`,
    `${draws} rounds revealed the key of their draws as they had committed to it` +
    (draws < rounds ? `; ${rounds - draws} did not commit to one` : ""),
    `${signatures} signatures of members are theirs, ${commitments} of them commitments of miners to a round; ` +
    `${proofs} failed verdicts are about work that its miner signed` +
    (unprovenVerdicts > 0 ? `; ${unprovenVerdicts} have no such proof and are the hub's word` : "") +
    (unsigned > 0 ? `; ${unsigned} verdicts or losses have none and are the hub's word` : ""),
    ...(firstLine > 1
      ? [`The log begins with line ${firstLine}: older lines have been deleted to bound its size`]
      : []),
    ...(signedLine > 0 && signedLine < last - 1
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
      ? [`${unprovenRounds} rounds cannot be recomputed from their steps, which are not all in the log`]
      : []),
    ...(lostLines > 0 ? [`${lostLines} lines did not fit on the hub's disk`] : []),
    ...(tornBytes > 0 ? [`The last ${tornBytes} bytes are an unfinished line`] : []),
    wrong === null ? "Every line follows" : `The first wrong line is ${wrong.line}: ${wrong.why}`,
  ];
}
