/** Whether an entry follows from what members signed for it. cli/observe/ledger checks the signatures. */

import { mostSquareSum } from "../score/gradient_verdict.ts";
import { agreedOn } from "../score/trial_loss.ts";
import { workHash } from "../statements/statement.ts";
import { rootFrom } from "../statements/work_tree.ts";
import type { TriedEntry, VerdictEntry } from "./entry.ts";

/** Each loss must be the one that the signed answers agree on, and all models must differ. */
export function endsProblem({ round, base, miners, losses, tokens, ends }: TriedEntry): string | null {
  if (ends === undefined) return null;
  const models = new Set(ends.map(({ parameters }) => parameters));
  if (models.size < ends.length || ends.some(({ node, parameters }) => (node === null) !== (parameters === null))) {
    return `the evaluation of round ${round} does not compare its start with each miner's own parameters`;
  }
  for (const { answers } of ends) {
    const isOfAll = answers.every((answer) => answer.tokens === tokens);
    if (!isOfAll) {
      return `the evaluation of round ${round} states ${tokens} tokens, which are not those of its losses`;
    }
    const by = new Set(answers.map(({ validator }) => validator));
    if (by.size < answers.length) return `the evaluation of round ${round} has two answers of one validator`;
  }
  const stated = [{ node: null, loss: base }, ...miners.map((node, i) => ({ node, loss: losses[i] ?? Infinity }))];
  for (const { node, loss } of stated) {
    const answers = ends.find((end) => end.node === node)?.answers ?? [];
    const agreed = agreedOn(answers.map((answer) => ({ loss: answer.loss ?? Infinity })));
    if (agreed === loss) continue;
    const whose = node === null ? "its start" : `the payload of ${node}`;
    return `the evaluation of round ${round} states a loss of ${loss} for ${whose}; the validators agree on ${agreed}`;
  }
  return null;
}

/** The failed work must be in what the miner signed. */
export function proofProblem({ task, work, gradient, step, proof }: VerdictEntry): string | null {
  if (proof === undefined) return null;
  if (gradient !== undefined) {
    const isIt = proof.step === step && Math.min(proof.squareSum, mostSquareSum) === gradient.claimed;
    return isIt ? null : `the verdict on the gradient of ${task} is not about the norm that its miner signed`;
  }
  const leaf = proof.work === undefined ? null : workHash({ task, ...proof.work });
  const isIn = leaf !== null && leaf === work && rootFrom(leaf, proof.path ?? []) === proof.root;
  return isIn ? null : `the verdict on ${task} is not about work that its miner signed`;
}
