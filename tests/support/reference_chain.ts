/**
 * A whole pipeline of reference stages as one smooth float64 function: no bytes and no rounding between the stages, so that
 * finite differences and golden vectors can be compared to many digits.
 */

import { assert, assertEquals } from "@std/assert";
import { crossEntropy, crossEntropyBackward } from "../lab/reference/cross_entropy.ts";
import type { StageModel } from "../lab/reference/stage_model.ts";
import {
  headBackward,
  headForward,
  type HeadPass,
  type PassInput,
  stageBackward,
  stageForward,
  type StagePass,
} from "../lab/reference/stage_pass.ts";

export type Batch = { readonly tokens: Uint32Array; readonly targets: Uint32Array };

export interface ChainPass {
  readonly passes: readonly StagePass[];
  readonly head: HeadPass;
  readonly losses: Float64Array; // (N), per token
}

function tailOf(chain: readonly StageModel[]): StageModel {
  const tail = chain.at(-1);
  assert(tail !== undefined, "a chain has at least one stage");
  return tail;
}

export function chainForward(chain: readonly StageModel[], { tokens, targets }: Batch): ChainPass {
  const tail = tailOf(chain);
  const passes: StagePass[] = [];
  let input: PassInput = { type: "tokens", tokens };
  for (const model of chain) {
    const pass = stageForward(model, input);
    passes.push(pass);
    input = { type: "values", values: pass.output, tokens };
  }
  assert(input.type === "values");
  const head = headForward(tail, input.values);
  return { passes, head, losses: crossEntropy({ logits: head.logits, targets }, tail.spec.model.vocabSize) };
}

/** Adds the gradients of the mean loss to every stage. */
export function chainBackward(chain: readonly StageModel[], batch: Batch): ChainPass {
  const tail = tailOf(chain);
  const pass = chainForward(chain, batch);
  const logits = { logits: pass.head.logits, targets: batch.targets };
  const dLogits = crossEntropyBackward(logits, tail.spec.model.vocabSize);
  const towardsTokens = chain.reduceRight<Float64Array | null>((gradient, model, stage) => {
    const stagePass = pass.passes[stage];
    assert(gradient !== null && stagePass !== undefined);
    return stageBackward(model, stagePass, gradient);
  }, headBackward(tail, pass.head, dLogits));
  assertEquals(towardsTokens, null);
  return pass;
}

export function mean(values: Iterable<number>): number {
  const all = [...values];
  return all.reduce((a, b) => a + b, 0) / all.length;
}
