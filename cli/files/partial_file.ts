/**
 * The temporary name of a file that is being written, until it is renamed into place.
 *
 * Owns: a unique name per write, so that two processes writing the same file do not interfere, and removing files left
 * by a killed process. Invariant: only names made here are removed, and only if not written to for `staleMs`, so a
 * folder holds at most the files of writes interrupted within that time. Never makes a write fail.
 */

const pattern = /\.[0-9a-f]{12}\.partial$/;
const staleMs = 3_600_000; // an active writer writes more often

export function partialName(path: string): string {
  return `${path}.${crypto.randomUUID().slice(-12)}.partial`;
}

/** The final name, for messages. */
export function finalName(path: string): string {
  return path.replace(pattern, "");
}

/** Files left in the folder by processes that ended while writing. */
export function removeStalePartials(folder: string, nowMs: number = Date.now()): void {
  quietly(() => {
    for (const { name, isFile } of Deno.readDirSync(folder)) {
      if (!isFile || !pattern.test(name)) continue;
      const path = `${folder}/${name}`;
      quietly(() => {
        const { mtime } = Deno.statSync(path);
        if (mtime !== null && nowMs - mtime.getTime() > staleMs) Deno.removeSync(path);
      });
    }
  });
}

/** A write failed: its partial file is useless. */
export function dropPartial(path: string): void {
  quietly(() => Deno.removeSync(path));
}

/** We may lack access to the folder, or another process may have been faster. */
function quietly(body: () => void): void {
  try {
    body();
  } catch (error) {
    if (!Object.values(Deno.errors).some((kind) => error instanceof kind)) throw error;
  }
}
