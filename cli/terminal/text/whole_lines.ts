/** The whole lines of a file that is appended to: a last line without its end was torn. */

export interface WholeLines {
  readonly lines: readonly string[];
  readonly tornBytes: number;
}

/** Null: no such file. */
export async function readWholeLines(path: string): Promise<WholeLines | null> {
  try {
    const bytes = await Deno.readFile(path);
    const wholeBytes = bytes.lastIndexOf(lineEnd) + 1;
    const text = new TextDecoder().decode(bytes.subarray(0, Math.max(0, wholeBytes - 1)));
    return { lines: wholeBytes === 0 ? [] : text.split("\n"), tornBytes: bytes.length - wholeBytes };
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
}

export async function cutTornEnd(path: string, { tornBytes }: WholeLines): Promise<void> {
  if (tornBytes > 0) await Deno.truncate(path, (await Deno.stat(path)).size - tornBytes);
}

const lineEnd = 10;
