/**
 * How a model's layers are divided into stages, and what a stage costs per token.
 *
 * Costs are FLOPs of matrices and attention, a multiply-add counted as two. A stage other than the tail recomputes its
 * forward before its backward unless it had room to keep it; the cost includes the repeat: two forwards and a backward
 * that costs twice a forward. (Pay does not count the repeat: task_flops.ts.) The tail turns around at once and saves
 * one forward, but holds the vocabulary matrix. So equal layer counts are not equal work. Invariants: stages are
 * contiguous, cover every layer once, hold at least one; no stage has more parameters than a 16 GiB device can train,
 * if the number of stages allows it; and no other such split has a cheaper slowest stage.
 */

import { plural } from "../plural.ts";
import { assert, present } from "../assert.ts";
import { codecs } from "../codec/codecs.ts";
import type { WireSpec } from "../codec/wire.ts";
import { wireAt } from "./boundaries.ts";
import { modelParameters, type ModelPlan } from "./shape.ts";
import { sideFlops } from "./side.ts";
import { parameterTable, type StageSpec, stageSpecs } from "./spec.ts";

/** The part of a stage that decides its cost. */
export type StageShape = Pick<StageSpec, "model" | "layerCount" | "wireIn" | "wireOut">;

export interface StageFlops {
  readonly forward: number; // FLOPs per token of one forward
  readonly training: number; // FLOPs per token of all computation for one trained token, recompute included
}

export function stageFlopsPerToken(stage: StageShape): StageFlops {
  const { width: d, vocabSize } = stage.model;
  const isTail = stage.wireOut === null;
  let forward = stage.layerCount * layerFlops(stage);
  forward += stage.wireIn === null ? d : endFlops(d, stage.wireIn, "receiver"); // the embedding copies one row of d values
  forward += stage.wireOut === null ? 2 * d * vocabSize : endFlops(d, stage.wireOut, "sender");
  return { forward, training: (isTail ? 3 : 4) * forward };
}

function layerFlops({ model }: StageShape): number {
  const { width: d, ffnWidth, heads, kvHeads, contextLength } = model;
  const keyValueWidth = (d / heads) * kvHeads;
  const matrices = 2 * d * (2 * d + 2 * keyValueWidth + 3 * ffnWidth);
  const meanKeys = (contextLength + 1) / 2; // causal
  const attention = 2 * (2 * d * meanKeys); // scores, then the mix of values
  return matrices + attention;
}

function endFlops(d: number, { codec, width, sideWidth = 0 }: WireSpec, end: "sender" | "receiver"): number {
  const ofCodec = codecs[codec][end].flops({ modelWidth: d, wireWidth: width });
  return ofCodec + (end === "receiver" && sideWidth > 0 ? sideFlops({ modelWidth: d, sideWidth }) : 0);
}

/**
 * Layers of each stage. Of all splits with the cheapest slowest stage it takes the one with the least sum of squared
 * costs, so the other stages are as even as possible. Fewer layers than stages would be our bug: core/settings/rules.ts
 * refuses such a configuration.
 */
export function splitLayers(config: ModelPlan): number[] {
  const { layers } = config.model;
  const { stages } = config.pipeline;
  assert(
    stages >= 1 && layers >= stages,
    `every stage needs a layer, but there is ${plural(layers, "layer")} for ${plural(stages, "stage")}`,
  );
  const costs = Array.from({ length: stages }, (_, stage) => trainingCosts(config, stage));
  const fitting = costs.map((ofStage, stage) =>
    ofStage.map((cost, count) => stageParameters(config, { stage, count }) > mostParameters ? Infinity : cost)
  );
  return evenSplit({ costs: fitting, layers }) ?? present(evenSplit({ costs, layers }), "every split is allowed");
}

/** The most even of all splits with the cheapest slowest stage; null if every split has a stage of cost Infinity. */
function evenSplit({ costs, layers }: Pick<SplitProblem, "costs" | "layers">): number[] | null {
  const slowest = bestSplit({ costs, layers, limit: Infinity, add: Math.max }).cost;
  if (slowest === Infinity) return null;
  return bestSplit({ costs, layers, limit: slowest, add: (sum, cost) => sum + cost * cost }).counts;
}

const mostParameters = 0.95e9; // of a stage: 16 bytes each with AdamW leave 2 GiB of a 16 GiB device for activations

/** Without the codec's, the side embedding's and the padding: at most a hundredth of `mostParameters`. */
function stageParameters(
  { model, pipeline: { stages } }: ModelPlan,
  { stage, count }: { stage: number; count: number },
) {
  const { width, vocabSize, layers } = model;
  const vocabulary = vocabSize * width;
  const layer = (modelParameters(model) - 2 * vocabulary) / layers;
  return count * layer + (stage === 0 ? vocabulary : 0) + (stage === stages - 1 ? vocabulary : 0);
}

/** Training FLOPs per token of one stage, by its number of layers. */
function trainingCosts(config: ModelPlan, stage: number): number[] {
  const wireIn = stage === 0 ? null : wireAt(config, stage);
  const wireOut = stage === config.pipeline.stages - 1 ? null : wireAt(config, stage + 1);
  return Array.from(
    { length: config.model.layers + 1 },
    (_, layerCount) => stageFlopsPerToken({ model: config.model, layerCount, wireIn, wireOut }).training,
  );
}

interface SplitProblem {
  readonly costs: readonly (readonly number[])[]; // [stage][layer count], rising with the count
  readonly layers: number;
  readonly limit: number; // no stage may cost more
  add(soFar: number, stageCost: number): number; // a split's cost with one more stage
}

interface Split {
  readonly cost: number;
  readonly counts: number[];
}

/** Dynamic program over (stage, layers assigned so far): every best beginning is extended by one more stage. */
function bestSplit({ costs, layers, limit, add }: SplitProblem): Split {
  let beginnings = new Map<number, Split>([[0, { cost: 0, counts: [] }]]); // by layers assigned
  costs.forEach((stageCosts, stage) => {
    const stagesAfter = costs.length - stage - 1; // each still needs a layer
    const extended = new Map<number, Split>();
    for (const [dealt, beginning] of beginnings) {
      for (let count = 1; dealt + count + stagesAfter <= layers; count++) {
        const stageCost = present(stageCosts[count], "a stage has a cost for every layer count");
        if (stageCost > limit) break;
        const cost = add(beginning.cost, stageCost);
        const known = extended.get(dealt + count);
        if (known === undefined || cost < known.cost) {
          extended.set(dealt + count, { cost, counts: [...beginning.counts, count] });
        }
      }
    }
    beginnings = extended;
  });
  return present(beginnings.get(layers), "a split with a layer for every stage exists");
}

/** Floats of each stage's parameter vector, padding included. */
export function stageParameterLengths(config: ModelPlan): number[] {
  return stageSpecs(config, splitLayers(config)).map((stage) => parameterTable(stage).length);
}
