/**
 * The device of one stage. Work runs in the order of the calls. A failed device rejects or throws from the call that
 * finds it on.
 */

import type { OptimizerName } from "../core/config/optimizer_names.ts";
import type { AdapterDescription } from "./compute.ts";
import type { GradientNorm, Update, VectorParts } from "./stage_vectors.ts";
import type { BufferRange, DeviceBuffers, Dispatch, StageOps } from "./stage_ops.ts";

export interface StageDevice {
  readonly adapter: AdapterDescription;
  readonly buffers: DeviceBuffers;
  readonly ops: StageOps;
  /** For results; called once, before the first `read`. */
  reserveReads(bytes: number): void;
  /** May leave garbage in every buffer. */
  warmUp(): Promise<void>;
  buildUpdate(optimizer: OptimizerName, parts: VectorParts): Update;
  buildGradientNorm(parts: VectorParts): GradientNorm;
  check(): void;
  run(program: readonly Dispatch[]): void;
  /** Runs the programs as one task. Returns copies. */
  read(programs: readonly (readonly Dispatch[])[], ranges: readonly BufferRange[]): Promise<ArrayBuffer[]>;
  readFloats(range: BufferRange, count: number): Promise<Float32Array>;
  copy(from: BufferRange, to: BufferRange): void;
  clear(ranges: readonly BufferRange[]): void;
  /** For work without a result: waits briefly. */
  finish(): Promise<void>;
  settle(): Promise<void>;
  destroy(): void;
}
