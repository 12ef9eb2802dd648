/** Receives members' uploads into the orchestrator's store, and releases everything however an upload ends. */

import type { Fault } from "../../core/fault.ts";
import type { NodeId } from "../../core/ids.ts";
import type { BlobQuota } from "./blob_quota.ts";
import { BlobError, type ByteStream, type UploadAnswer } from "./blobs.ts";
import type { ArrivingUpload, UploadSlots } from "./upload_slots.ts";

interface BlobIntakeOptions {
  readonly quota: BlobQuota;
  readonly slots: UploadSlots;
  readonly mayStore: (node: NodeId) => Fault | null;
  readonly isFull: () => boolean;
  /** The disk had no space for this many bytes of a member, which is not the member's fault. */
  readonly onDiskFull: (bytes: number) => void;
}

export interface IncomingBlob extends ArrivingUpload {
  readonly heldBytes: number;
  readonly announcedBytes: number; // 0: not announced
  /** Called even if the upload fails or the bytes cause its refusal. */
  readonly arrived: (bytes: number) => void;
}

export class BlobIntake {
  readonly #options: BlobIntakeOptions;

  constructor(options: BlobIntakeOptions) {
    this.#options = options;
  }

  /** The resulting blob is charged to the node. */
  async receive(blob: IncomingBlob, store: (source: ByteStream) => Promise<UploadAnswer>): Promise<UploadAnswer> {
    const { quota, slots, onDiskFull, isFull } = this.#options;
    const { node, heldBytes, announcedBytes } = blob;
    const closers: (() => void)[] = [];
    try {
      this.#check(node);
      const place = quota.reserve(node, heldBytes + announcedBytes);
      closers.push(place.close);
      place.arrived(heldBytes);
      const slot = slots.open(blob, (bytes) => {
        blob.arrived(bytes);
        place.arrived(bytes);
      });
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
      if (!blob.body.locked) await blob.body.cancel();
    }
  }

  #check(node: NodeId): void {
    const refusal = this.#options.mayStore(node);
    if (refusal !== null) throw new BlobError("refused", refusal.detail);
    if (this.#options.isFull()) throw diskFull();
  }
}

/** For members, without the orchestrator's folders. */
function diskFull(cause?: BlobError): BlobError {
  return new BlobError("diskFull", "Cannot store a blob now: the orchestrator's disk is full, and it waits for space", {
    cause,
  });
}
