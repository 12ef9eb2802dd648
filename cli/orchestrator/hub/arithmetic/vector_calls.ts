/**
 * The orchestrator's work on whole vectors as calls of plain data, on a thread (arithmetic_thread.ts) or in turns on
 * the orchestrator's (`plainArithmetic`), with equal results. One `VectorCalls` inspects a payload slice by slice, in
 * order.
 */

import { present } from "../../../../core/assert.ts";
import type { RunConfig } from "../../../../core/config/config.ts";
import { type Parsed, parsed } from "../../../../core/fault.ts";
import type { StageIndex } from "../../../../core/ids.ts";
import type { LongWork } from "../../../../core/long_work.ts";
import type { PayloadCodec, WeightedSlice } from "../../../../core/update/payload/payload_codec.ts";
import { payloadCodecOf } from "../../../../core/update/payload/payload_codecs.ts";
import { type PayloadShape, ShapeSum } from "../../../../core/update/payload_shape.ts";
import {
  inspectVector,
  joinStats,
  noValues,
  type PayloadStats,
  unreadable,
} from "../../../../core/update/payload_stats.ts";
import { decodeChange } from "../../../../core/update/shown_change.ts";
import { type ParameterTable, parameterTable, type StageSpec } from "../../../../core/model/spec.ts";
import { bytesOfFloats } from "../../../../core/model/vector_bytes.ts";
import type { Slice } from "../../../../core/protocol/merge_messages.ts";
import { workInTurns } from "../../../../net/turns.ts";
import { type OuterPart, type OuterResult, outerSlice } from "../../../node/stages/merge_work.ts";

interface VectorWork {
  /** `inspection`: a number of the payload's own. */
  readonly inspect: {
    readonly call: {
      readonly inspection: number;
      readonly stage: StageIndex;
      readonly sketchKey: number;
      readonly bytes: Uint8Array;
      readonly slice: Slice;
    };
    readonly answer: null;
  };
  /** After the last slice or a missing one. */
  readonly inspected: {
    readonly call: { readonly inspection: number };
    readonly answer: { readonly stats: PayloadStats; readonly shape: PayloadShape | null }; // null: not finite
  };
  /** Opened parameters, as their change since the round's start. */
  readonly inspectChange: {
    readonly call: { readonly stage: StageIndex; readonly sketchKey: number; readonly change: Uint8Array };
    readonly answer: { readonly way: PayloadStats; readonly sketch: readonly number[] | null };
  };
  /** What a payload's slice alone would subtract from its start; null: unreadable. */
  readonly valuesAlone: {
    readonly call: { readonly bytes: Uint8Array; readonly size: number };
    readonly answer: Float32Array | null;
  };
  readonly average: {
    readonly call: { readonly inputs: readonly WeightedSlice[] };
    readonly answer: Parsed<Uint8Array>;
  };
  readonly outerSlice: { readonly call: OuterPart; readonly answer: OuterResult | null };
}

export type VectorCallType = keyof VectorWork;
export type VectorCall<Type extends VectorCallType> = VectorWork[Type]["call"];
export type VectorAnswer<Type extends VectorCallType> = VectorWork[Type]["answer"];

export interface VectorArithmetic {
  compute<Type extends VectorCallType>(type: Type, call: VectorCall<Type>): Promise<VectorAnswer<Type>>;
  close(): void;
}

interface Inspection {
  readonly sum: ShapeSum;
  stats: PayloadStats;
}

type Computing = { readonly [Type in VectorCallType]: (call: VectorCall<Type>) => LongWork<VectorAnswer<Type>> };

export class VectorCalls implements Computing {
  readonly #codec: PayloadCodec;
  readonly #config: RunConfig;
  readonly #stages: readonly StageSpec[];
  readonly #open = new Map<number, Inspection>();

  constructor({ config, stages }: { config: RunConfig; stages: readonly StageSpec[] }) {
    this.#codec = payloadCodecOf(config);
    this.#config = config;
    this.#stages = stages;
  }

  *inspect({ inspection, stage, sketchKey, bytes, slice }: VectorCall<"inspect">): LongWork<null> {
    let open = this.#open.get(inspection);
    if (open === undefined) {
      open = { sum: new ShapeSum(this.#table(stage).tensors, sketchKey), stats: noValues };
      this.#open.set(inspection, open);
    }
    const stats = yield* this.#codec.inspect(bytes, slice.size);
    open.stats = joinStats(open.stats, stats);
    const values = stats.isFinite ? yield* this.valuesAlone({ bytes, size: slice.size }) : null;
    if (values !== null) yield* open.sum.add(values, slice.offset);
    return null;
  }

  // deno-lint-ignore require-yield -- short work, in the form that all calls have
  *inspected({ inspection }: VectorCall<"inspected">): LongWork<VectorAnswer<"inspected">> {
    const open = this.#open.get(inspection);
    this.#open.delete(inspection);
    if (open === undefined) return { stats: unreadable, shape: null }; // the first slice was missing
    return { stats: open.stats, shape: open.stats.isFinite ? open.sum.finish() : null };
  }

  *inspectChange(
    { stage, sketchKey, change }: VectorCall<"inspectChange">,
  ): LongWork<VectorAnswer<"inspectChange">> {
    const { tensors, length } = this.#table(stage);
    const values = yield* decodeChange(change, length);
    const way = values === null ? unreadable : yield* inspectVector(bytesOfFloats(values));
    if (values === null || !way.isFinite) return { way, sketch: null };
    const sum = new ShapeSum(tensors, sketchKey);
    yield* sum.add(values, 0);
    return { way, sketch: sum.finish().sketch };
  }

  *valuesAlone({ bytes, size }: VectorCall<"valuesAlone">): LongWork<Float32Array | null> {
    const alone = { payload: bytes, weight: 1, scale: 1 };
    const mean = this.#codec.isOwnAverage ? parsed(bytes) : yield* this.#codec.average([alone]);
    return mean.ok ? yield* this.#codec.decodeResult(mean.value, size) : null;
  }

  average({ inputs }: VectorCall<"average">): LongWork<Parsed<Uint8Array>> {
    return this.#codec.average(inputs);
  }

  outerSlice(part: VectorCall<"outerSlice">): LongWork<OuterResult | null> {
    return outerSlice(part, { outer: this.#config.outer, codec: this.#codec });
  }

  #table(stage: StageIndex): ParameterTable {
    return parameterTable(present(this.#stages[stage], "the stage exists"));
  }
}

export function computing<Type extends VectorCallType>(
  calls: Computing,
  type: Type,
  call: VectorCall<Type>,
): LongWork<VectorAnswer<Type>> {
  return calls[type](call);
}

export function plainArithmetic(run: { config: RunConfig; stages: readonly StageSpec[] }): VectorArithmetic {
  const calls = new VectorCalls(run);
  return {
    compute: (type, call) => workInTurns(computing(calls, type, call)),
    close: () => {},
  };
}
