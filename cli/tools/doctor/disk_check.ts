/**
 * The data folder: whether it is writable, its free space, and how long an fsync takes. For a missing folder the
 * nearest parent is probed, because it will be on the same disk.
 */

import { statfs } from "node:fs/promises";
import { explainRefusal } from "../../program/errors.ts";
import { isFolder, parentOf, realDisk } from "../../files/disk.ts";
import { byteSize, duration } from "../../terminal/text/format.ts";
import { good, type Verdict, warning, wrong } from "./verdict.ts";

const mebibyte = 2 ** 20;
const littleRoomBytes = 4 * 1024 * mebibyte; // a few checkpoints and wires of --size small
const leastRoomBytes = 256 * mebibyte;
const slowSyncMs = 100; // the orchestrator's journal waits for one per batch of events
const syncs = 5;
const probeBytes = 4096;

interface DiskFacts {
  readonly folder: string;
  readonly exists: boolean;
  readonly freeBytes: number;
  readonly syncMs: number; // the fastest, because other checks may keep this thread busy
}

export async function checkDisk(folder: string): Promise<Verdict> {
  const nearest = await nearestFolder(folder);
  try {
    const syncMs = await measureSync(nearest);
    const { bavail, bsize } = await statfs(nearest);
    return judgeDisk({ folder, exists: nearest === folder, freeBytes: bavail * bsize, syncMs });
  } catch (error) {
    const refusal = explainRefusal(error, { action: "write to the data folder", value: nearest });
    if (refusal === undefined) throw error;
    return wrong(refusal.message, refusal.next ?? "Pass another folder with --data DIR", { folder });
  }
}

export function judgeDisk(facts: DiskFacts): Verdict {
  const { folder, exists, freeBytes, syncMs } = facts;
  const place = exists ? folder : `${folder}, which will be created`;
  const text = `${byteSize(freeBytes)} free in ${place}; a sync takes ${duration(Math.max(1, syncMs))}`;
  const room = "Free some space, or pass a folder on another disk with --data DIR";
  if (freeBytes < leastRoomBytes) return wrong(`${text}: too little room for a run`, room, { ...facts });
  if (freeBytes < littleRoomBytes) return warning(`${text}: little room for checkpoints`, room, { ...facts });
  if (syncMs <= slowSyncMs) return good(text, { ...facts });
  const fix = "Pass a folder on a local disk with --data DIR: an orchestrator syncs to it constantly";
  return warning(`${text}, which is slow`, fix, { ...facts });
}

async function nearestFolder(folder: string): Promise<string> {
  for (let path = folder;; path = parentOf(path)) {
    if (await isFolder(path) || path === parentOf(path)) return path;
    if (await exists(path)) return path; // if it is a file, writing below it will say so
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await Deno.lstat(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) return false;
    throw error;
  }
}

async function measureSync(folder: string): Promise<number> {
  const path = `${folder}/.iota-doctor-${crypto.randomUUID()}`;
  const times: number[] = [];
  try {
    using file = await Deno.open(path, { write: true, createNew: true, mode: 0o600 });
    for (let i = 0; i < syncs; i++) {
      const startMs = performance.now();
      await file.write(new Uint8Array(probeBytes).fill(i));
      await file.sync();
      times.push(performance.now() - startMs);
    }
  } finally {
    if (times.length > 0) await realDisk.remove(path);
  }
  return Math.min(...times);
}
