/** The operations by name. */

import { Gemm, gemmFloats } from "../layout/gemm.ts";
import { type CpuKernels } from "../kernels/cpu_kernels.ts";
import { runAttention } from "./attention_jobs.ts";
import { runAttendCache, runCacheTokens } from "./cache_jobs.ts";
import { runBfloat16Decode, runBfloat16Encode, runCodesDecode, runCodesEncode } from "./codes_jobs.ts";
import type { Hand, Operation, OperationName } from "./job.ts";
import { runKernel } from "./kernel_job.ts";
import { runLowerProduct, runProduct } from "./product_jobs.ts";
import { runEmbed, runEmbedBackward } from "./token_jobs.ts";

export const operations: Readonly<Record<OperationName, Operation>> = {
  kernel: runKernel,
  product: runProduct,
  lowerProduct: runLowerProduct,

  attention: runAttention("forward"),
  attentionQueries: runAttention("backwardQueries"),
  attentionKeys: runAttention("backwardKeys"),
  embed: runEmbed,
  embedBackward: runEmbedBackward,
  bfloat16Encode: runBfloat16Encode,
  bfloat16Decode: runBfloat16Decode,
  codesEncode: runCodesEncode,
  codesDecode: runCodesDecode,
  cacheTokens: runCacheTokens,
  attendCache: runAttendCache,
};

/** `scratch`: address of all threads' packed panels. */
export function handOf(
  { index, memory, kernels, scratch }: {
    readonly index: number;
    readonly memory: WebAssembly.Memory;
    readonly kernels: CpuKernels;
    readonly scratch: number;
  },
): Hand {
  return { index, memory, kernels, gemm: new Gemm(kernels, scratch + 4 * gemmFloats * index) };
}
