/**
 * The compute of one stage. WebGPU, the processor and the reference in float64 share one conformance suite.
 *
 * Calls are awaited one at a time. Parameters are the flat f32 vector of `parameterTable(spec)`. Gradients accumulate
 * until `zeroGradients` or `step`. Wires are (B, T, width) values encoded by the run's codec; their gradient is
 * dL/d(wire value), straight through the rounding; L is the mean loss over the microbatch's B*T tokens.
 */

import type { TrainConfig } from "../core/config/config.ts";
import type { StageSpec } from "../core/model/spec.ts";
import type { OptimizerState } from "../core/train/optimizer.ts";
import type { OptimizerName } from "../core/config/optimizer_names.ts";

/** Token ids (B*T) at the head, a wire elsewhere. */
export type StageInput =
  | { readonly type: "tokens"; readonly tokens: Uint32Array }
  | { readonly type: "wire"; readonly wire: Uint8Array };

export interface AdapterDescription {
  readonly device: "webgpu" | "cpu";
  readonly name: string; // e.g. "llvmpipe (LLVM 15.0.6, 256 bits)"
  readonly isSoftware: boolean;
}

/** Each optimizer uses the settings that it knows. */
export interface StepOptions extends Pick<TrainConfig, "beta1" | "beta2" | "epsilon"> {
  readonly learningRate: number;
  readonly gradientScale: number; // on the accumulated gradient: clip factor / number of microbatches
  readonly weightDecay: number; // decoupled, on floats [0, decayLength)
}

/** "parameters" or a state vector of the optimizer by name. */
export type StageVector = string;

export interface Turnaround {
  readonly lossPerSequence: Float32Array; // (B), mean over T tokens, nats
  readonly gradient: Uint8Array | null; // null when the stage reads tokens (K = 1)
}

export interface StageOptions {
  /** Null: the stage takes no steps. @default defaultOptimizer */
  readonly optimizer?: OptimizerName | null;
  /** For open forwards. @default 0: each is computed again */
  readonly activationBytes?: number;
  /** @default as many as fit in memory */
  readonly openForwards?: number;
  /**
   * Each block's backward computes its forward again, to the same bits, so only blocks' inputs are held. @default false
   */
  readonly recomputes?: boolean;
  /** Blocks are recomputed if not all fit. @default what the device can allocate */
  readonly memoryBytes?: number | undefined;
  /** Of the processor; they change no bit. @default 1 */
  readonly threads?: number;
  /** Of one part of a vector. @default what the device allows */
  readonly partBytes?: number | undefined;
}

export interface PassOptions {
  readonly name?: string; // one input per name
}

export interface StageCompute {
  readonly spec: StageSpec;
  readonly adapter: AdapterDescription;
  /** Also zeroes gradients, not the optimizer's state. */
  loadParameters(parameters: Float32Array): Promise<void>;
  readParameters(): Promise<Float32Array>;
  loadOptimizer(state: OptimizerState): Promise<void>;
  readOptimizer(): Promise<OptimizerState>;
  /** In parts, so that no second copy is held. Gradients and step count stay. */
  writePart(vector: StageVector, part: { offset: number; values: Float32Array }): Promise<void>;
  readPart(vector: StageVector, part: { offset: number; length: number }): Promise<Float32Array>;
  countSteps(): Promise<number>;
  /** For a state written in parts. */
  setSteps(steps: number): Promise<void>;
  /** Not for the tail. A named forward's activations may be kept until its backward or new parameters. */
  forward(input: StageInput, options?: PassOptions): Promise<Uint8Array>;
  /** Not for the tail. Computes the forward again, to the same bits, unless it was kept. Null at the head. */
  backward(input: StageInput, gradient: Uint8Array, options?: PassOptions): Promise<Uint8Array | null>;
  /** Tail only. */
  turnaround(input: StageInput, targets: Uint32Array): Promise<Turnaround>;
  /** Tail only: losses (B). */
  evaluate(input: StageInput, targets: Uint32Array): Promise<Float32Array>;
  /** Tail only: logits of one position per sequence, (B, V). */
  logitsAt(input: StageInput, position: number): Promise<Float32Array>;
  zeroGradients(): Promise<void>;
  gradientSquareSum(): Promise<number>;
  readGradients(): Promise<Float32Array>;
  /** Then zeroes gradients. */
  step(options: StepOptions): Promise<void>;
  close(): void;
}
