/** Shared by the transport cases: registering a case, and short forms of common expectations. */

import { assert } from "@std/assert";
import type { Parsed } from "../../core/fault.ts";
import type { TransportWorld, WorldOptions } from "./transport_world.ts";

export type Check = (behaviour: string, body: (world: TransportWorld) => Promise<void>, options?: WorldOptions) => void;

export function must<T>(result: Parsed<T>): T {
  assert(result.ok, result.ok ? "" : result.fault.detail);
  return result.value;
}

/** The numbers of the next messages. */
export async function received(log: { next(type: "message"): Promise<{ message: { note: number } }> }, count: number) {
  const numbers: number[] = [];
  while (numbers.length < count) numbers.push((await log.next("message")).message.note);
  return numbers;
}
