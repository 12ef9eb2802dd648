/**
 * What members send into the hub's store, from the body of a request to the stored blob: the one gate in front of uploads.
 *
 * Owns the order of the checks (may the node store at all, is the disk full, is there a slot, has the node room) and that all
 * of it is given back however the upload ends. Out of scope: the books (blob_quota.ts, upload_slots.ts), files, HTTP.
 */

import type { Fault } from "../../core/fault.ts";
import type { NodeId } from "../../core/ids.ts";
import type { BlobQuota } from "./blob_quota.ts";
import { BlobError, type ByteStream, type UploadAnswer } from "./blobs.ts";
import type { ArrivingUpload, UploadSlots } from "./upload_slots.ts";

export interface BlobIntakeOptions {
  readonly quota: BlobQuota;
  readonly slots: UploadSlots;
  /** Null: it is the node's duty to store something. */
  readonly mayStore: (node: NodeId) => Fault | null;
  /** Whether the hub waits for room on its disk. */
  readonly isFull: () => boolean;
  /** The disk had no room for so many bytes of a member, which is not the member's fault. */
  readonly onDiskFull: (bytes: number) => void;
}

export interface IncomingBlob extends ArrivingUpload {
  readonly heldBytes: number; // of the blob, from earlier requests
  readonly announcedBytes: number; // of this request; 0: not announced
}

export class BlobIntake {
  readonly #options: BlobIntakeOptions;

  constructor(options: BlobIntakeOptions) {
    this.#options = options;
  }

  /** Hands the body on to `store`, counted; the blob that becomes of it is charged to the node. */
  async receive(blob: IncomingBlob, store: (source: ByteStream) => Promise<UploadAnswer>): Promise<UploadAnswer> {
    const { quota, slots, onDiskFull, isFull } = this.#options;
    const { node, heldBytes, announcedBytes } = blob;
    const closers: (() => void)[] = [];
    try {
      this.#check(node);
      const place = quota.reserve(node, heldBytes + announcedBytes);
      closers.push(place.close);
      place.arrived(heldBytes);
      const slot = slots.open(blob, place.arrived);
      closers.push(slot.close);
      const answer = await store(slot.source);
      if (answer.type === "stored") place.stored(answer.ref);
      return answer;
    } catch (error) {
      if (!(error instanceof BlobError && error.code === "diskFull")) throw error;
      if (!isFull()) onDiskFull(announcedBytes);
      throw diskFull(error);
    } finally {
      for (const close of closers.reverse()) close();
      if (!blob.body.locked) await blob.body.cancel(); // nobody has begun to read it
    }
  }

  #check(node: NodeId): void {
    const refusal = this.#options.mayStore(node);
    if (refusal !== null) throw new BlobError("refused", refusal.detail);
    if (this.#options.isFull()) throw diskFull();
  }
}

/** As members read it, without the hub's folders. */
function diskFull(cause?: BlobError): BlobError {
  return new BlobError("diskFull", "Cannot store a blob now as the orchestrator's disk is full: it waits for room", {
    cause,
  });
}
