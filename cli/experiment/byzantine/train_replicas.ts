/**
 * Eight replicas of every stage train apart and merge, while some replicas of the middle stage commit lies.
 *
 * Owns the rounds. Out of scope: the lies (payload_liars.ts), and how payloads are combined (combine.ts). Only the rules of the
 * merge work here: nothing is audited and nobody is expelled, so a liar lies in every round.
 */

import { present } from "../../../core/assert.ts";
import { outerStep, pseudoGradient } from "../../../core/merge/outer.ts";
import { parameterTable } from "../../../core/model/spec.ts";
import { keyOf, nextUint32, openStream } from "../../../core/prng.ts";
import type { OptimizerState } from "../../../core/train/optimizer.ts";
import { lossOn, microbatchesOf, openPath, type Path, type PathOptions, trainStep } from "../trained_path.ts";
import { combine, type CombineRule } from "./combine.ts";
import { type PayloadLie, replicas } from "./payload_liars.ts";

export interface Trained {
  readonly loss: number; // on held-out text, nats per token
  readonly honestLeftOut: number; // share of the honest payloads of the attacked stage, over all rounds
  readonly liesLeftOut: number; // share of the lies; NaN without any
}

export interface TrainOptions extends PathOptions {
  readonly rule: CombineRule;
  readonly lie: PayloadLie | null;
  readonly heldOutSequences: number;
}

export async function trainReplicas(options: TrainOptions): Promise<Trained> {
  const { config, batches, lie, heldOutSequences } = options;
  const { steps, stepsPerRound, sequencesPerMicrobatch } = config.train;
  const path = await openPath(options);
  try {
    const optimizers: OptimizerState[][] = [];
    for (let i = 0; i < replicas; i++) optimizers.push(await Promise.all(path.map((stage) => stage.readOptimizer())));
    let starts = await Promise.all(path.map((stage) => stage.readParameters()));
    const momenta = starts.map(({ length }) => new Float32Array(length));
    const dropped = { honest: 0, lies: 0 };
    const rounds = Math.floor(steps / stepsPerRound);
    for (let round = 0; round < rounds; round++) {
      const payloads = await roundOf(path, { ...options, round, starts, optimizers });
      starts = starts.map((start, stage) => {
        const { tensors } = parameterTable(present(path[stage], "a stage").spec);
        const stream = openStream(keyOf(config.seed, "byzantine", round, stage));
        const ofStage = payloads.map((each) => present(each[stage], "a payload of every stage"));
        const isAttacked = lie !== null && stage === path.length >> 1;
        const honest = isAttacked ? ofStage.slice(0, replicas - lie.liars) : ofStage;
        const lies = ofStage.slice(honest.length).map((own) => lie!.payload({ own, honest, stream }));
        const { average, scales } = combine([...honest, ...lies], {
          ...{ rule: options.rule, tensors, sketchKey: nextUint32(stream) },
        });
        if (stage === path.length >> 1) {
          dropped.honest += scales.slice(0, honest.length).filter((scale) => scale === 0).length;
          dropped.lies += scales.slice(honest.length).filter((scale) => scale === 0).length;
        }
        const { learningRate, momentum: momentumFactor } = config.outer;
        const next = outerStep({ parameters: start, momentum: momenta[stage]!, average, learningRate, momentumFactor });
        momenta[stage] = next.momentum;
        return next.parameters;
      });
    }
    for (const [i, stage] of path.entries()) await stage.loadParameters(starts[i]!);
    const sequences = Math.min(heldOutSequences, batches.heldOutWindows);
    const heldOut = microbatchesOf(batches.heldOut(sequences), sequencesPerMicrobatch * config.model.contextLength);
    const liars = lie?.liars ?? 0;
    return {
      loss: await lossOn(path, heldOut),
      honestLeftOut: dropped.honest / (rounds * (replicas - liars)),
      liesLeftOut: dropped.lies / (rounds * liars),
    };
  } finally {
    for (const stage of path) await stage.close();
  }
}

/** What each replica learned in the round: its payloads, stage by stage. Each keeps its optimizers' state. */
async function roundOf(
  path: Path,
  { round, starts, optimizers, ...options }: PathOptions & {
    round: number;
    starts: readonly Float32Array[];
    optimizers: OptimizerState[][];
  },
): Promise<Float32Array[][]> {
  const { stepsPerRound, microbatchesPerStep } = options.config.train;
  const payloads: Float32Array[][] = [];
  for (const [i, own] of optimizers.entries()) {
    for (const [each, stage] of path.entries()) {
      await stage.loadParameters(starts[each]!);
      await stage.loadOptimizer(own[each]!);
    }
    for (let local = 0; local < stepsPerRound; local++) {
      const step = round * stepsPerRound + local;
      await trainStep(path, { ...options, step, from: (step * replicas + i) * microbatchesPerStep });
    }
    const ends = await Promise.all(path.map((stage) => stage.readParameters()));
    payloads.push(ends.map((current, each) => pseudoGradient({ start: starts[each]!, current })));
    optimizers[i] = await Promise.all(path.map((stage) => stage.readOptimizer()));
  }
  return payloads;
}
