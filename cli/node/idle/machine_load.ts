/**
 * How busy other programs keep the processor: the busy time of all cores since the last reading, minus this process's
 * own. Load averages include this process's own threads; a software driver has one per core.
 */

import { cpus } from "node:os";
import process from "node:process";

export interface ProcessorTimes {
  readonly allMs: number; // of all cores, idle or not
  readonly idleMs: number;
  readonly ownMs: number; // of this process
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

/** Null if the readings are too close together, or the system does not report them. */
export function otherLoad(before: ProcessorTimes, now: ProcessorTimes): number | null {
  const allMs = now.allMs - before.allMs;
  if (allMs < 500) return null;
  const busyMs = allMs - (now.idleMs - before.idleMs) - (now.ownMs - before.ownMs);
  return Math.min(1, Math.max(0, busyMs / allMs));
}
