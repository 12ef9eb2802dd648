/**
 * Whether what an entry states follows from what members signed for it: the loss of a trial from the validators' answers, a failed
 * verdict from the work that its miner signed. Out of scope: whether the signatures are theirs (cli/observe/ledger).
 */

import { mostSquareSum } from "../score/gradient_verdict.ts";
import { agreedOn } from "../score/trial_loss.ts";
import { workHash } from "../statements/statement.ts";
import { rootFrom } from "../statements/work_tree.ts";
import type { TriedEntry, VerdictEntry } from "./entry.ts";

/** Each loss is the one that the validators' signed answers agree on, and each model is another one. */
export function endsProblem({ round, base, miners, losses, tokens, ends }: TriedEntry): string | null {
  if (ends === undefined) return null;
  const models = new Set(ends.map(({ parameters }) => parameters));
  if (models.size < ends.length || ends.some(({ node, parameters }) => (node === null) !== (parameters === null))) {
    return `the trial of round ${round} must compare its start with parameters of each miner's own`;
  }
  for (const { answers } of ends) {
    const isOfAll = answers.every((answer) => answer.tokens === tokens);
    if (!isOfAll) {
      return `the trial of round ${round} must state the tokens that its losses are of: it states ${tokens}`;
    }
    const by = new Set(answers.map(({ validator }) => validator));
    if (by.size < answers.length) return `the trial of round ${round} must have one answer of a validator`;
  }
  const stated = [{ node: null, loss: base }, ...miners.map((node, i) => ({ node, loss: losses[i] ?? Infinity }))];
  for (const { node, loss } of stated) {
    const answers = ends.find((end) => end.node === node)?.answers ?? [];
    const agreed = agreedOn(answers.map((answer) => ({ loss: answer.loss ?? Infinity })));
    if (agreed === loss) continue;
    const whose = node === null ? "its start" : `the payload of ${node}`;
    return `the trial of round ${round} must state the loss of ${whose} that validators agree on: it is ${loss}`;
  }
  return null;
}

/** The work that failed is in what its miner signed. */
export function proofProblem({ task, work, gradient, step, proof }: VerdictEntry): string | null {
  if (proof === undefined) return null;
  if (gradient !== undefined) {
    const isIt = proof.step === step && Math.min(proof.squareSum, mostSquareSum) === gradient.claimed;
    return isIt ? null : `the verdict on the gradient of ${task} must be about the norm that its miner signed`;
  }
  const leaf = proof.work === undefined ? null : workHash({ task, ...proof.work });
  const isIn = leaf !== null && leaf === work && rootFrom(leaf, proof.path ?? []) === proof.root;
  return isIn ? null : `the verdict on ${task} must be about the work that its miner signed`;
}
