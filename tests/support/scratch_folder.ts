/** A folder of the system's temporary folder that lives as long as the test. */
export function withScratchFolder<T>(body: (folder: string) => Promise<T> | T): Promise<T> {
  return withFolder({}, body);
}

/** In memory where the system has such a folder: for many small files whose every write is synced, when that is not under test. */
export function withMemoryFolder<T>(body: (folder: string) => Promise<T> | T): Promise<T> {
  return withFolder(memory, body);
}

const memory = await Deno.stat("/dev/shm").then(() => ({ dir: "/dev/shm" }), () => ({}));

async function withFolder<T>(place: { dir?: string }, body: (folder: string) => Promise<T> | T): Promise<T> {
  const folder = await Deno.makeTempDir({ prefix: "iota-test-", ...place });
  try {
    return await body(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
