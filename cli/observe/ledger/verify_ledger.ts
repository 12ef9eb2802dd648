/** Verifies a run's signed log from its files, offline: what was checked, and the first line that does not follow. */

import type { LogEntry, RoundEntry } from "../../../core/ledger/entry.ts";
import type { NodeId } from "../../../core/ids.ts";
import type { Verify } from "../../../net/auth/hello.ts";
import { headPath, readHead, readLedgerFiles } from "../../files/ledger_files.ts";
import { LedgerReader, type WrongLine } from "./ledger_reader.ts";

export interface VerifiedLedger {
  readonly run: string | null;
  readonly hub: NodeId | null; // whose signatures they are
  readonly firstLine: number;
  readonly lines: number; // that follow
  readonly scores: number; // computed again and equal
  readonly steps: number; // different ones
  readonly repeatedSteps: number; // trained once more, after the run had gone back
  readonly rounds: number;
  readonly verdicts: number;
  readonly commitments: number; // of miners, one a round
  readonly proofs: number; // failed verdicts with what their miner signed of the work
  readonly unprovenVerdicts: number; // failed ones without: that it was the miner's work is the orchestrator's word
  readonly draws: number; // rounds whose key was revealed as it had been committed to
  readonly signatures: number; // of members, each checked
  readonly unsigned: number; // verdicts and losses without one: the orchestrator's word
  readonly signedLine: number; // up to here signed; later lines belong to an open round or a killed process
  readonly unprovenRounds: number; // their steps are not all in the log
  readonly lostLines: number;
  readonly isEnded: boolean; // the newest entry says so, with the orchestrator's signature after it
  readonly tornBytes: number;
  readonly foreignHead: string | null; // the run that the head beside the log is of; null: this one, or there is none
  readonly wrong: WrongLine | null;
}

/** Whether the orchestrator's signature covers all lines, but for one that says so itself. */
export const hubSigns = ({ firstLine, lines, signedLine }: VerifiedLedger): boolean =>
  signedLine >= firstLine + lines - 2;

/** A report of no round, when the last audits are over. */
const endsPay = ({ isLast, miners }: RoundEntry): boolean => isLast === true && miners.length === 0;

/** Null: there is no log. */
export async function verifyLedger(
  path: string,
  { verify, onEntry = () => {} }: { verify: Verify; onEntry?: (entry: LogEntry, line: number) => void },
): Promise<VerifiedLedger | null> {
  const head = await readHead(headPath(path)); // before the lines: a run that goes on writes it after them
  const files = await readLedgerFiles(path);
  if (files.length === 0) return null;
  const counts = { steps: 0, repeatedSteps: 0, rounds: 0, verdicts: 0, commitments: 0, proofs: 0, unprovenVerdicts: 0 };
  let endedLine = Infinity;
  let nextStep = 0;
  const reader = new LedgerReader({
    verify,
    onEntry: (entry, line) => {
      endedLine = entry.type === "ended" ? line : Infinity;
      if (entry.type === "step") {
        if (entry.step < nextStep) counts.repeatedSteps += 1;
        else counts.steps += 1;
        nextStep = Math.max(nextStep, entry.step + 1);
      }
      if (entry.type === "round" && !endsPay(entry)) counts.rounds += 1;
      if (entry.type === "verdict") counts.verdicts += 1;
      if (entry.type === "verdict" && !entry.passed) {
        if (entry.proof === undefined) counts.unprovenVerdicts += 1;
        else counts.proofs += 1;
      }
      if (entry.type === "committed") counts.commitments += entry.miners.length;
      onEntry(entry, line);
    },
  });
  for (const { lines } of files) for (const line of lines) reader.take(line);
  reader.end();
  if (head !== null) reader.takeHead(head);
  reader.requireSigned();
  const { run, hub, firstLine, lines, scores, signatures, unsigned, signedLine, lostLines, wrong, ledger } = reader;
  const tornBytes = files.at(-1)?.tornBytes ?? 0;
  return {
    ...{ run, hub, firstLine, lines, scores, ...counts, signatures, unsigned, signedLine },
    ...{ draws: ledger.drawsProven, unprovenRounds: ledger.unproven, lostLines, tornBytes, wrong },
    isEnded: wrong === null && endedLine <= signedLine,
    foreignHead: head === null || head.run === run ? null : head.run,
  };
}
