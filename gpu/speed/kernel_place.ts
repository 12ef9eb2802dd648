/** Where kernels are measured: a device's operations and memory. */

import type { BufferRange, DeviceBuffers, Dispatch, StageOps } from "../stage_ops.ts";

export interface KernelPlace {
  readonly ops: StageOps;
  readonly buffers: DeviceBuffers;
  warmUp(): Promise<void>;
  run(program: readonly Dispatch[], times: number): Promise<void>;
}

/** Ordinary values, because zeros run cooler. */
export function filled(buffers: DeviceBuffers, { label, count }: { label: string; count: number }): BufferRange {
  const range = buffers.storage(label, count);
  buffers.upload(range, Float32Array.from({ length: count }, (_, i) => (i % 251) / 251 - 0.5));
  return range;
}
