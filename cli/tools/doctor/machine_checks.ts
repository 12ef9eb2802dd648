/**
 * The machine and the program on it: version and platform, memory, open files. A container's memory limit counts as the
 * machine's. A value that the system lacks is skipped.
 */

import { byteSize, decimal, plural } from "../../terminal/text/format.ts";
import { version } from "../../program/version.ts";
import { good, skipped, type Verdict, warning, wrong } from "./verdict.ts";

const gibibyte = 2 ** 30;
const littleMemoryBytes = 2 * gibibyte; // a node of a small size takes about one
const leastMemoryBytes = gibibyte / 2;
const fewFiles = 1024; // an orchestrator needs a socket per node, and files

export function checkProgram(): Promise<Verdict> {
  const { os, arch } = Deno.build;
  const cores = navigator.hardwareConcurrency;
  const text = `iota ${version}, Deno ${Deno.version.deno}, ${os} ${arch}, ${plural(cores, "core")}`;
  return Promise.resolve(good(text, { version, deno: Deno.version.deno, os, arch, cores }));
}

interface MemoryFacts {
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
  const fix = "Close other programs, or use a smaller --size";
  if (availableBytes < leastMemoryBytes) return wrong(`${text}: too little for a node`, fix, { ...facts });
  if (availableBytes < littleMemoryBytes) return warning(`${text}: enough only for --size tiny`, fix, { ...facts });
  return good(text, { ...facts });
}

/** By control groups, version 2 or 1; Infinity: none. */
async function containerLimitBytes(): Promise<number> {
  if (Deno.build.os !== "linux") return Infinity;
  const paths = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
  const limits = await Promise.all(paths.map(async (path) => Number((await readSystemFile(path))?.trim() || NaN)));
  return Math.min(...limits.map((limit) => limit > 0 ? limit : Infinity)); // "max" becomes NaN
}

const untold = "not readable with this command's rights; ask your shell: ulimit -n";

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

/** Null: missing or not readable. */
async function readSystemFile(path: string): Promise<string | null> {
  try {
    return await Deno.readTextFile(path);
  } catch {
    return null;
  }
}
