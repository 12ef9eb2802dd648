/**
 * The temporary name of a file that is being written, until it is renamed into place.
 *
 * Owns: a name of its own for each write, so that two processes that write the same file do not take it from one another, and
 * removing what a killed process left. Invariant: only names made here are removed, and only when nobody has written to them for
 * `staleMs`, so a folder holds no more of them than writes that were cut off in that time. Never fails a write.
 */

const pattern = /\.[0-9a-f]{12}\.partial$/;
const staleMs = 3_600_000; // who writes at all writes more often

export function partialName(path: string): string {
  return `${path}.${crypto.randomUUID().slice(-12)}.partial`;
}

/** What a person knows it by. */
export function finalName(path: string): string {
  return path.replace(pattern, "");
}

/** What was left in the folder by processes that ended while they wrote. */
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

/** A write failed: what it left is of no use. */
export function dropPartial(path: string): void {
  quietly(() => Deno.removeSync(path));
}

/** The folder may be closed to us, or another process may have been faster. */
function quietly(body: () => void): void {
  try {
    body();
  } catch (error) {
    if (!Object.values(Deno.errors).some((kind) => error instanceof kind)) throw error;
  }
}
