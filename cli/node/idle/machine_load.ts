/**
 * How busy other programs keep the processor: all cores' busy time minus this process's, which load averages would
 * include.
 */

import { cpus } from "node:os";
import process from "node:process";

export interface ProcessorTimes {
  readonly allMs: number;
  readonly idleMs: number;
  readonly ownMs: number;
}

export function readProcessorTimes(): ProcessorTimes {
  let allMs = 0;
  let idleMs = 0;
  for (const { times } of cpus()) {
    idleMs += times.idle;
    allMs += times.idle + times.user + times.nice + times.sys + times.irq;
  }
  const { user, system } = process.cpuUsage();
  return { allMs, idleMs, ownMs: (user + system) / 1000 };
}

/** Null: readings too close together, or none from the system. */
export function otherLoad(before: ProcessorTimes, now: ProcessorTimes): number | null {
  const allMs = now.allMs - before.allMs;
  if (allMs < 500) return null;
  const busyMs = allMs - (now.idleMs - before.idleMs) - (now.ownMs - before.ownMs);
  return Math.min(1, Math.max(0, busyMs / allMs));
}
