/**
 * The machine and the program on it: version and platform, memory, open files. Each is asked of the system and judged by itself.
 *
 * A limit that a container sets on memory counts as the memory there is. What a system does not tell is skipped, with that reason.
 */

import { byteSize, decimal, plural } from "../screen/format.ts";
import { version } from "../version.ts";
import { good, skipped, type Verdict, warning, wrong } from "./verdict.ts";

const gibibyte = 2 ** 30;
const littleMemoryBytes = 2 * gibibyte; // a node of the small sizes with its runtime and buffers takes about one
const leastMemoryBytes = gibibyte / 2;
const fewFiles = 1024; // an orchestrator holds a socket for every node, and files beside them

export function checkProgram(): Promise<Verdict> {
  const { os, arch } = Deno.build;
  const cores = navigator.hardwareConcurrency;
  const text = `iota ${version}, Deno ${Deno.version.deno}, ${os} ${arch}, ${plural(cores, "core")}`;
  return Promise.resolve(good(text, { version, deno: Deno.version.deno, os, arch, cores }));
}

export interface MemoryFacts {
  readonly totalBytes: number;
  readonly availableBytes: number;
}

export async function checkMemory(): Promise<Verdict> {
  const { total, available } = Deno.systemMemoryInfo();
  const limit = await containerLimitBytes();
  return judgeMemory({ totalBytes: Math.min(total, limit), availableBytes: Math.min(available, limit) });
}

export function judgeMemory(facts: MemoryFacts): Verdict {
  const { totalBytes, availableBytes } = facts;
  const text = `${byteSize(availableBytes)} of ${byteSize(totalBytes)} available`;
  const fix = "End other programs, or take a smaller --size";
  if (availableBytes < leastMemoryBytes) return wrong(`${text}: too little for a node`, fix, { ...facts });
  if (availableBytes < littleMemoryBytes) return warning(`${text}: enough for --size tiny alone`, fix, { ...facts });
  return good(text, { ...facts });
}

/** Of control groups, version 2 and 1; Infinity without one. */
async function containerLimitBytes(): Promise<number> {
  if (Deno.build.os !== "linux") return Infinity;
  const paths = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
  const limits = await Promise.all(paths.map(async (path) => Number((await readSystemFile(path))?.trim() || NaN)));
  return Math.min(...limits.map((limit) => limit > 0 ? limit : Infinity)); // "max" is no number
}

const untold = "not readable with the rights of this command; ask your shell: ulimit -n";

export async function checkOpenFiles(): Promise<Verdict> {
  const limits = Deno.build.os === "linux" ? await readSystemFile("/proc/self/limits") : null;
  if (limits === null) return skipped(untold);
  return judgeOpenFiles(limits);
}

/** `limits`: the text of /proc/self/limits. */
export function judgeOpenFiles(limits: string): Verdict {
  const soft = /^Max open files\s+(\d+|unlimited)/m.exec(limits)?.[1];
  if (soft === undefined) return skipped(untold);
  if (soft === "unlimited") return good("no limit", { openFiles: null });
  const openFiles = Number(soft);
  const text = `${decimal(openFiles)} at a time`;
  if (openFiles >= fewFiles) return good(text, { openFiles });
  return warning(`${text}: an orchestrator needs one for every node`, "Raise the limit first: ulimit -n 65536", {
    openFiles,
  });
}

/** Null where there is none, or it is closed to us. */
async function readSystemFile(path: string): Promise<string | null> {
  try {
    return await Deno.readTextFile(path);
  } catch {
    return null; // such files are hints, and many systems have none
  }
}
