/**
 * The frames of a zstd file (RFC 8878), each as its own bytes: the runtime unpacks one frame and ends silently after it,
 * and also where one is cut off (measured on Deno 2.9.6). So the frames are followed here, block by block.
 */

type Bytes = AsyncIterable<Uint8Array<ArrayBuffer>>;

const magic = 0xfd2fb528;
const [skippableMask, skippable] = [0xfffffff0, 0x184d2a50];
const dictionaryBytes = [0, 1, 2, 4]; // by the low two bits of a frame's flags
const contentBytes = [0, 2, 4, 8]; // by the high two

/** Each frame must be read to its end before the next one. Throws where something else stands. */
export async function* zstdFrames(packed: Bytes): AsyncGenerator<Bytes> {
  const reader = new ByteReader(packed);
  try {
    while (!await reader.isAtEnd()) {
      const start = await reader.take(4);
      const kind = numberOf(start);
      if (kind === magic) yield frame(reader, start);
      else if (((kind & skippableMask) >>> 0) !== skippable) throw new Error("not a zstd frame");
      else for await (const _ of reader.pass(numberOf(await reader.take(4)))) { /* no content */ }
    }
  } finally {
    await reader.close();
  }
}

async function* frame(reader: ByteReader, start: Uint8Array<ArrayBuffer>): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  yield start;
  const descriptor = await reader.take(1);
  yield descriptor;
  const flags = descriptor[0]!;
  const isOneSegment = (flags & 0x20) !== 0;
  const ofContent = contentBytes[flags >> 6]! || (isOneSegment ? 1 : 0);
  yield await reader.take((isOneSegment ? 0 : 1) + dictionaryBytes[flags & 3]! + ofContent);
  for (let isLast = false; !isLast;) {
    const head = await reader.take(3);
    yield head;
    const block = numberOf(head);
    isLast = (block & 1) !== 0;
    const isRun = ((block >> 1) & 3) === 1; // one byte, repeated
    yield* reader.pass(isRun ? 1 : block >> 3);
  }
  if ((flags & 4) !== 0) yield await reader.take(4); // the checksum
}

const numberOf = (bytes: Uint8Array): number => bytes.reduce((sum, byte, i) => sum + byte * 2 ** (8 * i), 0);

class ByteReader {
  readonly #chunks: AsyncIterator<Uint8Array<ArrayBuffer>>;
  #chunk = new Uint8Array(0);

  constructor(chunks: Bytes) {
    this.#chunks = chunks[Symbol.asyncIterator]();
  }

  async close(): Promise<void> {
    await this.#chunks.return?.();
  }

  async isAtEnd(): Promise<boolean> {
    while (this.#chunk.length === 0) {
      const next = await this.#chunks.next();
      if (next.done) return true;
      this.#chunk = next.value;
    }
    return false;
  }

  async take(count: number): Promise<Uint8Array<ArrayBuffer>> {
    const bytes = new Uint8Array(count);
    let done = 0;
    for await (const part of this.pass(count)) {
      bytes.set(part, done);
      done += part.length;
    }
    return bytes;
  }

  async *pass(count: number): AsyncGenerator<Uint8Array<ArrayBuffer>> {
    for (let left = count; left > 0;) {
      if (await this.isAtEnd()) throw new Error("cut off");
      const part = this.#chunk.subarray(0, left);
      this.#chunk = this.#chunk.subarray(part.length);
      left -= part.length;
      yield part;
    }
  }
}
