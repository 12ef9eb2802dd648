/** Messages between a compute worker and its owner. Both are our code, so nothing is validated. */

import type { StageSpec } from "../core/model/spec.ts";
import type { AdapterDescription, StageCompute, StageOptions } from "./compute.ts";
import type { HelperOrder } from "./cpu/threads/helper_messages.ts";
import type { AttentionRequest } from "./speed/attention_speed.ts";
import type { GemmRequest } from "./speed/gemm_speed.ts";
import type { TunedGemms } from "./webgpu/tuning/tuned.ts";
import type { TuneRequest } from "./webgpu/tuning/tune_gemm.ts";

/** `webgpu` is any adapter, `gpu` a real one, `software` one on the processor; `auto`: see devices.ts. */
export const deviceChoices = ["auto", "gpu", "cpu", "software", "webgpu"] as const;
export type DeviceChoice = typeof deviceChoices[number];

export interface DeviceRequest {
  readonly device: DeviceChoice;
  readonly isShared: boolean; // with other nodes: CPU time counts, not the clock
  readonly threads: number; // of the processor
  readonly tuned: TunedGemms; // on this machine
}

export type StageMethod = Exclude<keyof StageCompute, "spec" | "adapter" | "close">;
export type StageArguments<M extends StageMethod> = Parameters<StageCompute[M]>;
export type StageResult<M extends StageMethod> = Awaited<ReturnType<StageCompute[M]>>;

export type ComputeRequest =
  | { readonly type: "openDevice"; readonly id: number } & DeviceRequest
  | {
    readonly type: "openStage";
    readonly id: number;
    readonly stage: number;
    readonly spec: StageSpec;
    readonly options: StageOptions;
  }
  | {
    readonly type: "callStage";
    readonly id: number;
    readonly stage: number;
    readonly method: StageMethod;
    readonly arguments: StageArguments<StageMethod>;
  }
  | { readonly type: "closeStage"; readonly id: number; readonly stage: number }
  | { readonly type: "inspect"; readonly id: number } // DeviceFacts or null
  | ({ readonly type: "measureGemm"; readonly id: number } & GemmRequest) // GemmSpeed
  | ({ readonly type: "measureAttention"; readonly id: number } & AttentionRequest) // BatchSpeed
  | { readonly type: "measureAdapter"; readonly id: number; readonly budgetMs: number } // AdapterSpeed
  | ({ readonly type: "tune"; readonly id: number } & TuneRequest) // GemmTuning, or null
  | { readonly type: "checkOperations"; readonly id: number; readonly specs: readonly StageSpec[] } // OperationCheck
  | { readonly type: "rest"; readonly id: number } // answered when all before it is done
  /** Out of turn, because a request waits for them. Problem null: they are ready. */
  | { readonly type: "helpersStarted"; readonly id: number; readonly problem: string | null };

export type ComputeResponse =
  | {
    readonly type: "deviceOpened";
    readonly id: number;
    readonly adapter: AdapterDescription;
    readonly threads: number | null; // null: not the processor
    readonly reason: string | null;
  }
  | { readonly type: "finished"; readonly id: number; readonly result: unknown } // of this request
  | { readonly type: "failed"; readonly id: number; readonly name: string; readonly message: string }
  /** A worker may not start threads. The id is this order's. */
  | { readonly type: "startHelpers"; readonly id: number; readonly order: HelperOrder };

/** Typed arrays get their own buffers, on the `transfer` list. */
export function ownedCopy<T>(value: T, transfer: ArrayBuffer[]): T {
  if (value instanceof Float32Array || value instanceof Uint32Array || value instanceof Uint8Array) {
    const copy = value.slice();
    transfer.push(copy.buffer as ArrayBuffer);
    return copy as T;
  }
  if (Array.isArray(value)) return value.map((item) => ownedCopy(item, transfer)) as T;
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, ownedCopy(item, transfer)])) as T;
}
