/**
 * A disk under a process that is killed, or one that is full: the only fake the storage tests need.
 *
 * Operations go to the real disk until the chosen one. That one is done by half (a write leaves half its bytes) and throws,
 * and so does every later one, as no code runs after a kill.
 */

import type { Disk, OpenFile } from "../../cli/files/disk.ts";
import { realDisk } from "../../cli/files/disk.ts";

export class Killed extends Error {
  override name = "Killed";
}

export interface FailingDisk extends Disk {
  /** Operations that were begun. */
  readonly operations: number;
}

/** `survives` operations succeed; Infinity counts without failing. `error` is what the next one throws. */
export function failingDisk(survives: number, error: () => Error = () => new Killed()): FailingDisk {
  let operations = 0;
  const run = async <T>(
    operation: () => Promise<T>,
    half: () => Promise<unknown> = () => Promise.resolve(),
  ): Promise<T> => {
    operations += 1;
    if (operations <= survives) return await operation();
    if (operations === survives + 1) await half();
    throw error();
  };
  const wrapFile = (file: OpenFile): OpenFile => ({
    write: (bytes) => run(() => file.write(bytes), () => file.write(bytes.subarray(0, bytes.length >> 1))),
    sync: () => run(() => file.sync()),
    close: () => file.close(), // the system closes files of a dead process
  });
  return {
    get operations() {
      return operations;
    },
    createFolder: (path) => run(() => realDisk.createFolder(path)),
    create: (path) =>
      run(async () => wrapFile(await realDisk.create(path)), async () => (await realDisk.create(path)).close()),
    rename: (from, to) => run(() => realDisk.rename(from, to)),
    remove: (path) => run(() => realDisk.remove(path)),
    syncFolder: (path) => run(() => realDisk.syncFolder(path)),
  };
}
