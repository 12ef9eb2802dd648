/**
 * The golden traces of training: twenty optimizer steps of a small Llama by PyTorch.
 *
 * Owns the format of the files that tests/vectors/compute/make_traces.py writes.
 */

import { assertEquals } from "@std/assert";
import type { Codec } from "../../core/codec/codec_names.ts";
import type { TrainConfig } from "../../core/config/config.ts";
import type { ModelShape } from "../../core/model/shape.ts";

/** The codecs without stochastic rounding, whose training PyTorch repeats to float32 errors. */
export type TracedCodec = Extract<Codec, "none" | "iota">;

/** By tensor. */
export type NamedVectors = ReadonlyMap<string, Float32Array>;

/** What a training shows of itself. */
export interface TrainingRecord {
  readonly losses: readonly number[]; // of each step, mean over its tokens, nats
  readonly norms: readonly number[]; // of each step's mean gradient over all stages, before clipping
  readonly learningRates: readonly number[]; // of each step
  readonly gradients: NamedVectors; // of the first step, mean over its microbatches, before clipping
  readonly end: NamedVectors; // parameters after the last step
  readonly firstLogits: Float32Array; // of the first step, (M, B, T, V)
  readonly lastLogits: Float32Array; // of the last step, with the parameters before it
}

interface RunOfTraces {
  readonly model: ModelShape;
  readonly bottleneckWidth: number;
  readonly train: Partial<TrainConfig>;
  readonly learningRates: readonly number[];
  readonly batches: readonly (readonly (readonly number[])[])[]; // of each step, of each microbatch: (B, T + 1) token ids
}

interface TraceFile extends RunOfTraces {
  readonly codecs: Readonly<
    Record<
      TracedCodec,
      Pick<TrainingRecord, "losses" | "norms"> & { tensors: readonly { name: string; size: number }[] }
    >
  >;
}

export interface TrainingTrace extends RunOfTraces, TrainingRecord {
  readonly start: NamedVectors; // parameters
}

export function readTrace(codec: TracedCodec): TrainingTrace {
  const file = (name: string) => new URL(`../vectors/compute/${name}`, import.meta.url);
  const { codecs, ...run }: TraceFile = JSON.parse(Deno.readTextFileSync(file("trace.json")));
  const { tensors, ...curves } = codecs[codec];
  const values = new Float32Array(Deno.readFileSync(file(`trace_${codec}.bin`)).buffer);
  let offset = 0;
  const take = (size: number) => values.subarray(offset, offset += size);
  const named = () => new Map(tensors.map(({ name, size }) => [name, take(size)]));
  const { contextLength, vocabSize } = run.model;
  const streamed = run.batches[0]!.flat().length; // of one step, with the targets behind the last tokens
  const logits = () => take(streamed / (contextLength + 1) * contextLength * vocabSize);
  const vectors = { start: named(), gradients: named(), end: named(), firstLogits: logits(), lastLogits: logits() };
  assertEquals(offset, values.length, "the file holds exactly what its index says");
  return { ...run, ...curves, ...vectors };
}
