/** Attention of rows that each continue a text. */

import type { BufferRange, CacheSizes, CacheTensors, Dispatch } from "../stage_ops.ts";
import { floatBits, type Kernels } from "./kernel.ts";
import attendCacheText from "./wgsl/attend_cache.wgsl" with { type: "text" };
import cacheTokensText from "./wgsl/cache_tokens.wgsl" with { type: "text" };

export function cacheTokens(
  kernels: Kernels,
  { rows, heads, kvHeads, headWidth, streams, length }: CacheSizes,
  { table, places, qkv, keys, values }: CacheTensors & { readonly table: BufferRange },
): Dispatch {
  const pairs = (heads + 2 * kvHeads) * headWidth / 8;
  return kernels.dispatch({
    kernel: { label: "cache_tokens", source: cacheTokensText },
    bindings: [table, places, qkv, keys, values],
    constants: [heads, kvHeads, headWidth / 8, streams, length],
    workgroups: [Math.ceil(pairs / 32), rows],
  });
}

export function attendCache(
  kernels: Kernels,
  { rows, heads, kvHeads, headWidth, streams, length }: CacheSizes,
  { places, qkv, keys, values, output }: CacheTensors & { readonly output: BufferRange },
): Dispatch {
  const vectors = headWidth / 4;
  const source = `const headVectors = ${vectors}u;\n${attendCacheText}`;
  return kernels.dispatch({
    kernel: { label: "attend_cache", source },
    bindings: [places, qkv, keys, values, output],
    constants: [heads, kvHeads, streams, length, floatBits(1 / Math.sqrt(headWidth))],
    workgroups: [heads, rows],
  });
}
