/** What members signed of an entry, and whether the signatures are genuine. Earlier versions' entries have none. */

import type { CommittedEntry, EvaluatedEntry, LogEntry, TriedEntry, VerdictEntry } from "../../../core/ledger/entry.ts";
import type { SignedStatement } from "../../../core/statements/statement.ts";

interface SignedParts {
  readonly signed: readonly SignedStatement[];
  readonly unsigned: number; // findings without a signature
}

const nothing: SignedParts = { signed: [], unsigned: 0 };

export function signedParts(entry: LogEntry): SignedParts {
  switch (entry.type) {
    case "verdict": {
      const { signed, unsigned } = partsOf(verdictStatement(entry));
      return { signed: [...signed, ...receiptStatements(entry)], unsigned };
    }
    case "committed":
      return { signed: commitments(entry), unsigned: 0 };
    case "evaluated":
      return partsOf(evaluationStatement(entry));
    case "tried":
      return triedParts(entry);
    default:
      return nothing;
  }
}

const partsOf = (signed: SignedStatement | null): SignedParts =>
  signed === null ? { signed: [], unsigned: 1 } : { signed: [signed], unsigned: 0 };

function verdictStatement(entry: VerdictEntry): SignedStatement | null {
  const { round, miner, task, validator: signer, signature, parameters, work, step, gradient } = entry;
  if (signature === undefined || parameters === undefined) return null;
  if (gradient !== undefined) {
    if (step === undefined) return null;
    const squareSum = gradient.found;
    return { signer, signature, statement: { type: "gradient", round, step, miner, task, parameters, squareSum } };
  }
  if (work === undefined) return null;
  const { innovationError, equalShare, lossError } = entry;
  const found = { innovationError, equalShare, lossError };
  return { signer, signature, statement: { type: "task", round, miner, task, work, parameters, ...found } };
}

/** core/ledger checks that the work is in it. */
function receiptStatements({ round, miner: signer, proof }: VerdictEntry): SignedStatement[] {
  if (proof === undefined) return [];
  const { step, previous, root, tasks, squareSum, signature } = proof;
  return [{ signer, signature, statement: { type: "step", round, step, previous, root, tasks, squareSum } }];
}

function commitments({ round, miners, heads, payloads, signatures }: CommittedEntry): SignedStatement[] {
  return miners.map((signer, i): SignedStatement => ({
    ...{ signer, signature: signatures[i] ?? "" },
    statement: { type: "round", round, head: heads[i] ?? "", payload: payloads[i] ?? "" },
  }));
}

function evaluationStatement(
  { round, validator: signer, loss, tokens, parameters, signature }: EvaluatedEntry,
): SignedStatement | null {
  if (signature === undefined || tokens === undefined || parameters === undefined) return null;
  return { signer, signature, statement: { type: "model", round, parameters, loss, tokens } };
}

function triedParts({ round, stage, parameters, ends, losses }: TriedEntry): SignedParts {
  if (parameters === undefined || ends === undefined) return { signed: [], unsigned: losses.length + 1 };
  const signed = ends.flatMap(({ parameters: own, answers }) => {
    const model = parameters.map((name, index) => index === stage && own !== null ? own : name);
    return answers.map(({ validator: signer, loss, tokens, signature }): SignedStatement => ({
      ...{ signer, signature },
      statement: { type: "model", round, parameters: model, loss, tokens },
    }));
  });
  return { signed, unsigned: 0 };
}

/** Whose signature is wrong; null: none. */
export function signatureProblem(
  { signed }: SignedParts,
  isGenuine: (signed: SignedStatement) => boolean,
): string | null {
  const wrong = signed.find((each) => !isGenuine(each));
  return wrong === undefined ? null : `it must have the signature of ${wrong.signer} for what it says of it`;
}
