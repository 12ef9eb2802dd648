/** What every device can be measured for; the task of each measurement is in the file that it is imported from. */

import type { AdapterSpeed } from "./adapter_speed.ts";
import type { AttentionRequest } from "./attention_speed.ts";
import type { BatchSpeed } from "./batch_speed.ts";
import type { GemmRequest, GemmSpeed } from "./gemm_speed.ts";

/** Null of the reference, which is not built for speed. */
export interface DeviceSpeeds {
  /** A matrix product that stages use, at its best within the budget. */
  measureGemm(request: GemmRequest): Promise<GemmSpeed | null>;
  /** The same of a stage's attention, in FLOPs. */
  measureAttention(request: AttentionRequest): Promise<BatchSpeed | null>;
  /** What the device can do at most. */
  measureAdapter(budgetMs: number): Promise<AdapterSpeed | null>;
}
