/**
 * A pipeline of three stages against PyTorch: it trains on the batches of the golden traces and must come to their losses, norms,
 * logits, gradients and final parameters, with the tolerances that its implementation states. A slow implementation takes only
 * the first steps, whose losses and norms show what the steps before them did.
 */

import { assert, assertEquals } from "@std/assert";
import { parameterTable } from "../../core/model/spec.ts";
import { stateLength } from "../../core/train/optimizer.ts";
import { defaultOptimizer } from "../../core/config/optimizer_names.ts";
import { optimizers } from "../../core/train/optimizers.ts";
import type { StageCompute } from "../../gpu/compute.ts";
import { testWhere } from "../support/test_where.ts";
import { specsOf, tinyConfig } from "../support/tiny_model.ts";
import type { OpenStage } from "./compute_suite.ts";
import { relativeL2 } from "./compute_world.ts";
import { train, type Training } from "./training_run.ts";
import {
  type NamedVectors,
  readTrace,
  type TracedCodec,
  type TrainingRecord,
  type TrainingTrace,
} from "./training_trace.ts";

/** How far a training is from the trace: the largest relative error of each kind. */
export interface TraceErrors {
  readonly losses: number;
  readonly norms: number;
  readonly firstLogits: number; // relative L2 of all together
  readonly lastLogits: number;
  readonly gradients: number; // relative L2 of a tensor
  readonly changes: number; // relative L2 of what the training changed in a tensor
}

/** The most that each error may be. */
export type TraceTolerances = Readonly<Record<TracedCodec, TraceErrors>>;

export interface TrainingSuiteOptions {
  readonly tolerances: TraceTolerances;
  /** How many are taken. @default all of the trace, whose last logits and parameters are compared too */
  readonly steps?: number;
  /** Why the suite cannot run here; reported as ignored. */
  readonly skip?: string | null;
}

export function trainingSuite(
  name: string,
  open: OpenStage,
  { tolerances, steps = Infinity, skip = null }: TrainingSuiteOptions,
): void {
  testWhere(
    skip,
    `StageCompute ${name}: ${
      steps === Infinity ? "twenty" : steps
    } training steps agree with PyTorch's, codecs none and iota`,
    async () => {
      const stages: StageCompute[] = [];
      const openAndKeep: OpenStage = async (spec, optimizer) => {
        const stage = await open(spec, optimizer);
        stages.push(stage);
        return stage;
      };
      try {
        const trainings = [];
        for (const codec of ["none", "iota"] as const) {
          const trace = firstSteps(readTrace(codec), steps);
          trainings.push({ codec, trace, training: await openTraining(trace, codec, openAndKeep) });
        }
        // Side by side: on a GPU nearly all of the time is waiting for results.
        const records = await Promise.all(trainings.map(({ training }) => train(training)));
        trainings.forEach(({ codec, trace }, i) => {
          assertLearningRates(records[i]!, trace);
          assertErrors(errorsOf(records[i]!, trace), { codec, tolerances });
        });
      } finally {
        for (const stage of stages) stage.close();
      }
    },
  );
}

/** The trace as far as its first steps; where it ends is known only for all of them. */
function firstSteps(trace: TrainingTrace, steps: number): TrainingTrace & { readonly isCut: boolean } {
  const [batches, losses] = [trace.batches.slice(0, steps), trace.losses.slice(0, steps)];
  const [norms, learningRates] = [trace.norms.slice(0, steps), trace.learningRates.slice(0, steps)];
  return { ...trace, batches, losses, norms, learningRates, isCut: batches.length < trace.batches.length };
}

/** Stages with the trace's first parameters and an optimizer that has seen no step. */
async function openTraining(trace: TrainingTrace, codec: TracedCodec, open: OpenStage): Promise<Training> {
  const { model, bottleneckWidth, train, start, batches } = trace;
  const config = tinyConfig({ model, train, pipeline: { codec, stages: model.layers, bottleneckWidth } });
  const stages: StageCompute[] = [];
  for (const spec of specsOf(config)) {
    const stage = await open(spec, defaultOptimizer);
    const table = parameterTable(spec);
    const parameters = new Float32Array(table.length);
    for (const { name, offset } of table.tensors) parameters.set(start.get(name)!, offset);
    await stage.loadParameters(parameters);
    const vectors = optimizers[defaultOptimizer].stateVectors(table);
    const zeros = vectors.map((each) => [each.name, new Float32Array(stateLength(each))] as const);
    await stage.loadOptimizer({ vectors: Object.fromEntries(zeros), steps: 0 });
    stages.push(stage);
  }
  const held = stages.flatMap(({ spec }) => parameterTable(spec).tensors.map(({ name }) => name));
  assertEquals(held.toSorted(), [...start.keys()].toSorted(), "every tensor of the trace has its place");
  return { config, stages, batches };
}

/** Both are float64, and no device takes part. */
function assertLearningRates(record: TrainingRecord, trace: TrainingTrace): void {
  const error = worst(relativeErrors(record.learningRates, trace.learningRates));
  assert(error < 1e-12, `the learning rates of our schedule are off by ${error}`);
}

function assertErrors(
  errors: TraceErrors,
  { codec, tolerances }: { codec: TracedCodec; tolerances: TraceTolerances },
): void {
  const kinds = Object.entries(tolerances[codec]) as [keyof TraceErrors, number][];
  const text = kinds.map(([kind, most]) =>
    `${kind} ${errors[kind].toExponential(1)} (at most ${most.toExponential()})`
  );
  const isClose = kinds.every(([kind, most]) => errors[kind] <= most);
  assert(isClose, `codec ${codec}, largest errors against the trace: ${text.join(", ")}`);
}

function errorsOf(record: TrainingRecord, trace: TrainingTrace & { readonly isCut: boolean }): TraceErrors {
  const names = [...trace.start.keys()];
  const changesIn = (end: NamedVectors, name: string) => {
    const start = trace.start.get(name)!;
    return Array.from(end.get(name)!, (value, i) => value - start[i]!);
  };
  return {
    losses: worst(relativeErrors(record.losses, trace.losses)),
    norms: worst(relativeErrors(record.norms, trace.norms)),
    firstLogits: relativeL2(record.firstLogits, trace.firstLogits),
    lastLogits: trace.isCut ? 0 : relativeL2(record.lastLogits, trace.lastLogits),
    gradients: worst(names.map((name) => relativeL2(record.gradients.get(name)!, trace.gradients.get(name)!))),
    changes: trace.isCut
      ? 0
      : worst(names.map((name) => relativeL2(changesIn(record.end, name), changesIn(trace.end, name)))),
  };
}

function relativeErrors(actual: readonly number[], expected: readonly number[]): number[] {
  assertEquals(actual.length, expected.length);
  return expected.map((value, i) => Math.abs(actual[i]! / value - 1));
}

/** NaN if there is one. */
const worst = (errors: readonly number[]) => Math.max(...errors);
