/** Two stages as one: every call goes to both, and their results must be the same to the bit. */

import { assertEquals } from "@std/assert";
import type { StageCompute } from "../../gpu/compute.ts";

/** All floats as their bits. */
function bitsOf(value: unknown): unknown {
  if (value instanceof Float32Array) return new Uint32Array(value.buffer, value.byteOffset, value.length);
  if (value instanceof Error) return value.message;
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, bitsOf(each)]));
}

export function pairedStage(one: StageCompute, other: StageCompute): StageCompute {
  return new Proxy(one, {
    get(_, name: keyof StageCompute) {
      if (typeof one[name] !== "function") return one[name];
      if (name === "close") {
        return () => [one, other].forEach((stage) => stage.close());
      }
      return async (...args: unknown[]) => {
        const call = async (stage: StageCompute) => await (stage[name] as (...args: unknown[]) => unknown)(...args);
        const [first, second] = await Promise.allSettled([call(one), call(other)]);
        assertEquals(bitsOf(second), bitsOf(first), name);
        if (first.status === "rejected") throw first.reason;
        return first.value;
      };
    },
  });
}
