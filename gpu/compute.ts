/**
 * The compute of one stage as its callers see it. Three implementations, one conformance suite: WebGPU, the processor,
 * and the reference in float64.
 *
 * Contract: calls are made one at a time, each awaited before the next. Parameters are the flat f32 vector of
 * `parameterTable(spec)`. Gradients accumulate (`+=`) over backward and turnaround until `zeroGradients` or `step`.
 * Wires are bytes, as the run's codec encodes (B, T, width) values (core/codec). The gradient on a wire is dL/d(wire value),
 * straight through the rounding, encoded as the codec's gradients are; L is the mean loss over the microbatch's B*T tokens.
 */

import type { TrainConfig } from "../core/config/config.ts";
import type { StageSpec } from "../core/model/spec.ts";
import type { OptimizerState } from "../core/train/optimizer.ts";
import type { OptimizerName } from "../core/config/optimizer_names.ts";

/** Token ids (B*T) at the head, an encoded wire elsewhere. */
export type StageInput = InputValues & {
  /**
   * Of stages with a cache: (B, 2), each row's stream and position; a stream beyond the last: an empty row. A call may also
   * have one row instead of B, and then takes less time.
   */
  readonly places?: Uint32Array;
};

type InputValues =
  | { readonly type: "tokens"; readonly tokens: Uint32Array }
  | { readonly type: "wire"; readonly wire: Uint8Array };

export interface CacheOptions {
  readonly streams: number; // texts at once
  readonly length: number; // positions of a text
}

export interface AdapterDescription {
  readonly device: "webgpu" | "cpu";
  readonly name: string; // e.g. "llvmpipe (LLVM 15.0.6, 256 bits)"
  readonly isSoftware: boolean;
}

/** The step header's numbers and the settings of the run's optimizers; each uses what it knows. */
export interface StepOptions extends Pick<TrainConfig, "beta1" | "beta2" | "epsilon"> {
  readonly learningRate: number;
  readonly gradientScale: number; // multiplies the accumulated gradient: clip factor / number of microbatches
  readonly weightDecay: number; // decoupled, on floats [0, decayLength)
}

/** A flat vector of a stage: "parameters", laid out by `parameterTable(spec)`, or a state vector of its optimizer by name. */
export type StageVector = string;

export interface Turnaround {
  readonly lossPerSequence: Float32Array; // (B), mean over the T tokens, nats
  readonly gradient: Uint8Array | null; // towards the previous stage; null when the stage reads tokens (K = 1)
}

export interface StageOptions {
  /**
   * The stage continues texts: T is 1, a row is the next token of a stream, and keys and values of earlier ones are kept.
   * It has `forward` and `logitsAt` only, and no gradients. @default it trains
   */
  readonly cache?: CacheOptions;
  /** Null: the stage takes no steps and keeps no state for them. @default defaultOptimizer */
  readonly optimizer?: OptimizerName | null;
  /** Memory for activations of forwards that wait for their backward. @default 0: each is computed again */
  readonly activationBytes?: number;
  /** The most forwards that may wait at once, at most 64. @default as many as fit in `activationBytes` */
  readonly openForwards?: number;
  /**
   * Each block's backward computes its forward again, to the same bits; only blocks' inputs are held. @default false
   */
  readonly recomputes?: boolean;
  /** What the stage may take: a device recomputes blocks if all of them do not fit. @default what the device can allocate */
  readonly memoryBytes?: number | undefined;
  /** Of the processor; they change the time but no bit. @default 1 */
  readonly threads?: number;
  /** The most that one part of a vector may have. @default what the device allows */
  readonly partBytes?: number | undefined;
}

export interface PassOptions {
  readonly name?: string; // of the input: another input must have another name
}

export interface StageCompute {
  readonly spec: StageSpec;
  readonly adapter: AdapterDescription;
  /** Also zeroes gradients; the optimizer's state stays. */
  loadParameters(parameters: Float32Array): Promise<void>;
  readParameters(): Promise<Float32Array>;
  /** Exactly the vectors that its optimizer keeps. */
  loadOptimizer(state: OptimizerState): Promise<void>;
  readOptimizer(): Promise<OptimizerState>;
  /**
   * Large vectors in parts, so that no second copy is held. Values from `offset` on; neither gradients nor the count of steps
   * change.
   */
  writePart(vector: StageVector, part: { offset: number; values: Float32Array }): Promise<void>;
  readPart(vector: StageVector, part: { offset: number; length: number }): Promise<Float32Array>;
  /** How many steps the optimizer's state has seen. */
  countSteps(): Promise<number>;
  /** Sets the step count of a state that was written in parts. */
  setSteps(steps: number): Promise<void>;
  /** Not for the tail. With a name, its activations may be kept until the backward of that name or until parameters change. */
  forward(input: StageInput, options?: PassOptions): Promise<Uint8Array>;
  /**
   * Accumulates gradients. Computes the forward again, to the same bits, unless it was kept. Null at the head. Not
   * for the tail.
   */
  backward(input: StageInput, gradient: Uint8Array, options?: PassOptions): Promise<Uint8Array | null>;
  /** Tail only: forward, loss and backward. */
  turnaround(input: StageInput, targets: Uint32Array): Promise<Turnaround>;
  /** Tail only: losses without gradients, (B). */
  evaluate(input: StageInput, targets: Uint32Array): Promise<Float32Array>;
  /** Tail only: logits of one position of every sequence, (B, V), for sampling. */
  logitsAt(input: StageInput, position: number): Promise<Float32Array>;
  zeroGradients(): Promise<void>;
  /** Squared L2 norm of the accumulated (unscaled) gradient. */
  gradientSquareSum(): Promise<number>;
  readGradients(): Promise<Float32Array>;
  /** One step of the optimizer, then zeroes gradients. */
  step(options: StepOptions): Promise<void>;
  close(): void;
}
