/**
 * The device of one stage as the stage sees it (stage.ts): memory, operations, and the ways to run them. Work runs in
 * the order of the calls. A failed device rejects or throws from the call that finds it on.
 */

import type { OptimizerName } from "../core/config/optimizer_names.ts";
import type { AdapterDescription } from "./compute.ts";
import type { GradientNorm, Update, VectorParts } from "./stage_vectors.ts";
import type { BufferRange, DeviceBuffers, Dispatch, StageOps } from "./stage_ops.ts";

export interface StageDevice {
  readonly adapter: AdapterDescription;
  readonly buffers: DeviceBuffers;
  readonly ops: StageOps;
  /** Sizes the memory for results; called once, before the first `read`. */
  reserveReads(bytes: number): void;
  /** Compiles what is new on this device. It may leave garbage in every buffer. */
  warmUp(): Promise<void>;
  buildUpdate(optimizer: OptimizerName, parts: VectorParts): Update;
  buildGradientNorm(parts: VectorParts): GradientNorm;
  check(): void;
  run(program: readonly Dispatch[]): void;
  /** Runs the programs as one task and returns copies of the ranges' bytes. */
  read(programs: readonly (readonly Dispatch[])[], ranges: readonly BufferRange[]): Promise<ArrayBuffer[]>;
  /** The first `count` f32 values of a range of any size. */
  readFloats(range: BufferRange, count: number): Promise<Float32Array>;
  copy(from: BufferRange, to: BufferRange): void;
  clear(ranges: readonly BufferRange[]): void;
  /** For work without a result: waits as briefly as the device allows. */
  finish(): Promise<void>;
  /** Waits until all work is done, and reports its failures. */
  settle(): Promise<void>;
  destroy(): void;
}
