/** Reads whole lines of a growing file. An unfinished last line waits for the next reading. */

const chunkBytes = 2 ** 18;
const longestLine = 2 ** 25; // three times the largest swarm's view
const lineEnd = 10;

/** `text` null: too long. `end`: where the next line begins. False stops. */
type OnLine = (text: string | null, end: number) => boolean | void;

export async function readLines(file: Deno.FsFile, from: number, onLine: OnLine): Promise<number> {
  await file.seek(from, Deno.SeekMode.Start);
  const chunk = new Uint8Array(chunkBytes);
  let parts: Uint8Array[] = [];
  let partBytes = 0;
  let end = from;
  while (true) {
    const count = await file.read(chunk);
    if (count === null) return end;
    let at = 0;
    while (true) {
      const next = chunk.indexOf(lineEnd, at);
      if (next === -1 || next >= count) break;
      const bytes = partBytes + next - at;
      const text = bytes > longestLine ? null : decoded([...parts, chunk.subarray(at, next)]);
      end += bytes + 1;
      at = next + 1;
      parts = [];
      partBytes = 0;
      if (onLine(text, end) === false) return end;
    }
    if (at === count) continue;
    partBytes += count - at;
    if (partBytes <= longestLine) parts.push(chunk.slice(at, count));
    else parts = [];
  }
}

const decoder = new TextDecoder();

function decoded(parts: readonly Uint8Array[]): string {
  if (parts.length === 1) return decoder.decode(parts[0]);
  const streaming = new TextDecoder();
  return parts.map((part) => streaming.decode(part, { stream: true })).join("") + streaming.decode();
}
