/**
 * The processor as devices that are lost: a compute worker without a thread, for tests that need no GPU.
 *
 * Like a real device, it does not tell when it is lost: calls that return nothing pass, the next one that returns a value fails.
 */

import type { StageCompute } from "../../../gpu/compute.ts";
import { createCpuStage } from "../../../gpu/cpu/cpu_stage.ts";
import { DeviceLostError } from "../../../gpu/webgpu/device.ts";
import type { Departure } from "../../../gpu/trace/operation_check.ts";
import type { ComputeWorker } from "../../../gpu/worker_client.ts";

/** Methods whose success says nothing: they only submit work. */
const silent: ReadonlySet<string> = new Set(["loadParameters", "loadOptimizer", "writePart", "zeroGradients", "step"]);

const methods = [
  ...["loadParameters", "readParameters", "loadOptimizer", "readOptimizer", "writePart", "readPart", "countSteps"],
  ...[
    "setSteps",
    "forward",
    "backward",
    "turnaround",
    "evaluate",
    "zeroGradients",
    "gradientSquareSum",
    "readGradients",
  ],
  "step",
] as const;

const none: Departure = {
  ...{ stage: 0, operation: "none", memory: "none", difference: 0, tolerance: 1, firstRow: 0, lastRow: 0 },
  ...{ rowsHash: "", processorRowsHash: "" },
};
const notMeasured = () => Promise.reject(new Error("not measured"));

/** A call of a stage, counted over all stages of a device from 1 on. */
export interface StageCall {
  readonly method: string;
  readonly count: number;
}

/** `isLost`: whether the device is lost with this call. */
export function losingWorker(isLost: (call: StageCall) => boolean): ComputeWorker {
  const adapter = { device: "webgpu", name: "losing processor", isSoftware: true } as const;
  let count = 0;
  let lost = false;
  const fail = () =>
    Promise.reject(new DeviceLostError("Cannot continue computing as the GPU device was lost: unplugged"));
  const losing = (stage: StageCompute): StageCompute => {
    const changed: Record<string, unknown> = {};
    for (const method of methods) {
      const call = stage[method as "forward"].bind(stage) as (...args: unknown[]) => Promise<unknown>;
      changed[method] = (...args: unknown[]) => {
        count += 1;
        if (!lost && isLost({ method, count })) lost = true;
        if (!lost) return call(...args);
        return silent.has(method) ? Promise.resolve() : fail();
      };
    }
    return new Proxy(stage, {
      get: (target, name) =>
        name === "close" ? () => target.close() : changed[String(name)] ?? Reflect.get(target, name, target),
    });
  };
  return {
    adapter,
    threads: null,
    reason: null,
    openStage: (spec, options) => lost ? fail() : createCpuStage(spec, options).then(losing),
    inspect: () => Promise.resolve(null),
    measureGemm: notMeasured,
    measureAttention: notMeasured,
    measureAdapter: notMeasured,
    tune: () => Promise.resolve(null),
    checkOperations: () => Promise.resolve({ outputs: 1, processorHash: "", worst: none, agrees: true }),
    finish: () => Promise.resolve(),
    close: () => {},
  };
}

export const steadyWorker = (): ComputeWorker => losingWorker(() => false);
