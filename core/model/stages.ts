/**
 * How layers are divided into stages, and what a stage costs per token.
 *
 * Costs are FLOPs of matrices and attention, a multiply-add counted as two. A stage is counted with a forward repeated
 * before its backward (which costs two forwards), as if it had no room to keep the first one; the tail repeats none but
 * holds the vocabulary matrix. Stages are contiguous, of at least one layer. If their number allows it, each can be
 * trained on a 16 GiB device, and no other such split has a cheaper slowest stage.
 */

import { plural } from "../plural.ts";
import { assert, present } from "../assert.ts";
import { codecs } from "../codec/codecs.ts";
import type { WireSpec } from "../codec/wire.ts";
import { wireAt } from "./boundaries.ts";
import { modelParameters, type ModelPlan } from "./shape.ts";
import { sideFlops } from "./side.ts";
import { parameterTable, type StageSpec, stageSpecs } from "./spec.ts";

export type StageShape = Pick<StageSpec, "model" | "layerCount" | "wireIn" | "wireOut">;

interface StageFlops {
  readonly forward: number; // per token
  readonly training: number; // per trained token, repeated forward included
}

export function stageFlopsPerToken(stage: StageShape): StageFlops {
  const { width: d, vocabSize } = stage.model;
  const isTail = stage.wireOut === null;
  let forward = stage.layerCount * layerFlops(stage);
  forward += stage.wireIn === null ? d : endFlops(d, stage.wireIn, "receiver"); // a row of the embedding
  forward += stage.wireOut === null ? 2 * d * vocabSize : endFlops(d, stage.wireOut, "sender");
  return { forward, training: (isTail ? 3 : 4) * forward };
}

function layerFlops({ model }: StageShape): number {
  const { width: d, ffnWidth, heads, kvHeads, contextLength } = model;
  const keyValueWidth = (d / heads) * kvHeads;
  const matrices = 2 * d * (2 * d + 2 * keyValueWidth + 3 * ffnWidth);
  const meanKeys = (contextLength + 1) / 2; // causal
  const attention = 2 * (2 * d * meanKeys); // scores, then values
  return matrices + attention;
}

function endFlops(d: number, { codec, width, sideWidth = 0 }: WireSpec, end: "sender" | "receiver"): number {
  const ofCodec = codecs[codec][end].flops({ modelWidth: d, wireWidth: width });
  return ofCodec + (end === "receiver" && sideWidth > 0 ? sideFlops({ modelWidth: d, sideWidth }) : 0);
}

/**
 * Of all splits with the cheapest slowest stage, the one with the least sum of squared costs. core/settings/rules.ts
 * refuses fewer layers than stages.
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

/** Null if every split has a stage of cost Infinity. */
function evenSplit({ costs, layers }: Pick<SplitProblem, "costs" | "layers">): number[] | null {
  const slowest = bestSplit({ costs, layers, limit: Infinity, add: Math.max }).cost;
  if (slowest === Infinity) return null;
  return bestSplit({ costs, layers, limit: slowest, add: (sum, cost) => sum + cost * cost }).counts;
}

const mostParameters = 0.95e9; // 16 bytes each leave 2 GiB of a 16 GiB device for activations

/** Without codec, side embedding and padding: at most a hundredth of `mostParameters`. */
function stageParameters(
  { model, pipeline: { stages } }: ModelPlan,
  { stage, count }: { stage: number; count: number },
) {
  const { width, vocabSize, layers } = model;
  const vocabulary = vocabSize * width;
  const layer = (modelParameters(model) - 2 * vocabulary) / layers;
  return count * layer + (stage === 0 ? vocabulary : 0) + (stage === stages - 1 ? vocabulary : 0);
}

/** By number of layers. */
function trainingCosts(config: ModelPlan, stage: number): number[] {
  const wireIn = stage === 0 ? null : wireAt(config, stage);
  const wireOut = stage === config.pipeline.stages - 1 ? null : wireAt(config, stage + 1);
  return Array.from(
    { length: config.model.layers + 1 },
    (_, layerCount) => stageFlopsPerToken({ model: config.model, layerCount, wireIn, wireOut }).training,
  );
}

interface SplitProblem {
  readonly costs: readonly (readonly number[])[]; // [stage][layer count], rising
  readonly layers: number;
  readonly limit: number;
  add(soFar: number, stageCost: number): number; // cost of a split with one more stage
}

interface Split {
  readonly cost: number;
  readonly counts: number[];
}

/** Dynamic program over (stage, layers assigned so far). */
function bestSplit({ costs, layers, limit, add }: SplitProblem): Split {
  let beginnings = new Map<number, Split>([[0, { cost: 0, counts: [] }]]);
  costs.forEach((stageCosts, stage) => {
    const stagesAfter = costs.length - stage - 1; // each needs a layer
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

/** Floats, padding included. */
export function stageParameterLengths(config: ModelPlan): number[] {
  return stageSpecs(config, splitLayers(config)).map((stage) => parameterTable(stage).length);
}
