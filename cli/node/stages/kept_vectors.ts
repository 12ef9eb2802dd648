/**
 * Fetched parameters by hash, the least recently used dropped first. One is kept whatever its size. Nobody may write
 * into them.
 */

const usualBytes = 2 ** 30;

export class KeptVectors {
  readonly #vectors = new Map<string, Float32Array>();
  readonly #mostBytes: number;
  #bytes = 0;

  constructor(mostBytes = usualBytes) {
    this.#mostBytes = mostBytes;
  }

  known(hash: string): Float32Array | undefined {
    return this.#vectors.get(hash);
  }

  async get(hash: string, load: () => Promise<Float32Array>): Promise<Float32Array> {
    const known = this.#vectors.get(hash);
    const vector = known ?? await load();
    this.#vectors.delete(hash);
    this.#vectors.set(hash, vector);
    if (known === undefined) {
      this.#bytes += vector.byteLength;
      this.#makeRoom();
    }
    return vector;
  }

  clear(): void {
    this.#vectors.clear();
    this.#bytes = 0;
  }

  #makeRoom(): void {
    for (const [hash, { byteLength }] of this.#vectors) {
      if (this.#bytes <= this.#mostBytes || this.#vectors.size === 1) return;
      this.#vectors.delete(hash);
      this.#bytes -= byteLength;
    }
  }
}
