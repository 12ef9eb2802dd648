/**
 * Which blobs the orchestrator's store has. Content addressing without content: putting a blob twice stores it once, a
 * delete removes it for all that share it.
 */

import type { RefusedUpload } from "../../../../core/fault.ts";
import type { BlobHash, BlobRef } from "../../../../core/ids.ts";

/** What uploads are answered. */
export type UploadRefusal = Pick<RefusedUpload, "status" | "clockMs">;

export class BlobSet {
  refusal: UploadRefusal | null = null; // of everybody's uploads
  readonly #stored = new Set<string>();
  #unused: ReadonlySet<string> = new Set(); // at the last sweep
  readonly #lost = new Set<string>(); // ever
  #peak = 0;

  get size(): number {
    return this.#stored.size;
  }

  get peak(): number {
    return this.#peak;
  }

  put(refs: readonly BlobRef[]): void {
    for (const { hash } of refs) this.#stored.add(hash);
    this.#peak = Math.max(this.#peak, this.#stored.size);
  }

  has(ref: BlobRef): boolean {
    return this.#stored.has(ref.hash);
  }

  /** The first of these that is not stored. */
  missing(refs: readonly BlobRef[]): BlobRef | null {
    return refs.find((ref) => !this.#stored.has(ref.hash)) ?? null;
  }

  /** Deletes blobs unused both now and at the last sweep. */
  sweep(used: ReadonlySet<string>): void {
    const unused = new Set([...this.#stored].filter((hash) => !used.has(hash)));
    for (const hash of unused) if (this.#unused.has(hash)) this.#stored.delete(hash);
    this.#unused = unused;
  }

  /** Loses blobs that no process deleted. */
  lose(isHit: () => boolean): void {
    for (const hash of [...this.#stored]) {
      if (!isHit()) continue;
      this.#stored.delete(hash);
      this.#lost.add(hash);
    }
  }

  /** Whether the blob was once lost by a fault: then nobody is to blame that it is missing. */
  wasLost(ref: BlobRef): boolean {
    return this.#lost.has(ref.hash);
  }

  delete(hashes: readonly BlobHash[]): void {
    for (const hash of hashes) this.#stored.delete(hash);
  }
}
