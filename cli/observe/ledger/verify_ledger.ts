/** Verifies a run's signed log offline. */

import type { LogEntry, RoundEntry, StartModel } from "../../../core/ledger/entry.ts";
import type { NodeId } from "../../../core/ids.ts";
import type { Verify } from "../../../net/auth/hello.ts";
import { headPath, readHead, readLedgerFiles } from "../../files/ledger_files.ts";
import { LedgerReader, type WrongLine } from "./ledger_reader.ts";

export interface VerifiedLedger {
  readonly run: string | null;
  readonly hub: NodeId | null;
  readonly from: StartModel | null; // whose parameters the run began with
  readonly firstLine: number;
  readonly lines: number;
  readonly scores: number;
  readonly steps: number;
  readonly repeatedSteps: number; // after a rollback
  readonly rounds: number;
  readonly verdicts: number;
  readonly commitments: number;
  readonly proofs: number; // failed verdicts with the miner's signature of the work
  readonly unprovenVerdicts: number; // failed verdicts without: the orchestrator's word
  readonly draws: number; // rounds whose revealed key matches its commitment
  readonly signatures: number;
  readonly unsigned: number; // verdicts and losses without one
  readonly signedLine: number; // later lines: an open round or a killed process
  readonly unprovenRounds: number; // some steps are not in the log
  readonly lostLines: number;
  readonly isEnded: boolean; // and signed
  readonly tornBytes: number;
  readonly foreignHead: string | null; // run of the head beside the log; null: this one, or no head
  readonly wrong: WrongLine | null;
}

/** Whether the signature covers all lines but its own. */
export const hubSigns = ({ firstLine, lines, signedLine }: VerifiedLedger): boolean =>
  signedLine >= firstLine + lines - 2;

/** The last audits are over. */
const endsPay = ({ isLast, miners }: RoundEntry): boolean => isLast === true && miners.length === 0;

export async function verifyLedger(
  path: string,
  { verify, onEntry = () => {} }: { verify: Verify; onEntry?: (entry: LogEntry, line: number) => void },
): Promise<VerifiedLedger | null> {
  const head = await readHead(headPath(path)); // before the lines: a live run writes it after them
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
    ...{ run, hub, from: reader.from ?? null, firstLine, lines, scores, ...counts, signatures, unsigned, signedLine },
    ...{ draws: ledger.drawsProven, unprovenRounds: ledger.unproven, lostLines, tornBytes, wrong },
    isEnded: wrong === null && endedLine <= signedLine,
    foreignHead: head === null || head.run === run ? null : head.run,
  };
}
