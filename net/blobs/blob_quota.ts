/**
 * How much members may keep in the hub's store, and who is charged for what lies there.
 *
 * A blob is charged to the node that stored it first, until it is deleted or the run turns out to need it. What is on its way
 * is reserved before it comes. Out of scope: storing (blob_disk.ts), which blobs are needed (the machine), what becomes of a
 * node that is refused too often (`onExceeded` tells it, at a bounded rate). Invariant: of one node at most `bytesOfNode` and
 * `blobsOfNode` are charged and reserved together, of all members at most `capacityBytes` are stored and reserved.
 */

import { type Fault, fault } from "../../core/fault.ts";
import type { BlobHash, BlobRef, NodeId } from "../../core/ids.ts";
import { BlobError, tooLarge } from "./blobs.ts";
import type { Timers } from "../timers.ts";

export interface QuotaLimits {
  readonly blobBytes: number; // the largest blob that an honest member stores
  readonly bytesOfNode: number;
  readonly blobsOfNode: number;
  readonly capacityBytes: number; // of everything in the store that a member's upload may bring it to
}

export interface BlobQuotaOptions {
  readonly limits: QuotaLimits;
  /** What lies in the store, whoever put it there. */
  readonly storedBytes: () => number;
  /** The node asked for more than its share. */
  readonly onExceeded: (node: NodeId, fault: Fault) => void;
  readonly timers: Timers;
}

/** Room for one blob that is arriving. */
export interface Reservation {
  /** Some of its bytes are here; beyond what was announced more is reserved, or refused. */
  arrived(bytes: number): void;
  /** It is a blob now. */
  stored(ref: BlobRef): void;
  /** Gives back what was reserved. */
  close(): void;
}

interface Account {
  bytes: number; // charged and reserved
  blobs: number;
  toldMs: number; // when `onExceeded` last heard of it
}

const toldEveryMs = 1_000; // a flood of refusals must not become a flood of events

export class BlobQuota {
  readonly #options: BlobQuotaOptions;
  readonly #accounts = new Map<NodeId, Account>();
  readonly #charges = new Map<BlobHash, { readonly node: NodeId; readonly bytes: number }>();
  #reservedBytes = 0; // of all nodes

  constructor(options: BlobQuotaOptions) {
    this.#options = options;
  }

  usage(node: NodeId): { bytes: number; blobs: number } {
    const { bytes = 0, blobs = 0 } = this.#accounts.get(node) ?? {};
    return { bytes, blobs };
  }

  /** Room for a blob of so many bytes; throws when there is none. Bytes nobody announced are reserved as they come. */
  reserve(node: NodeId, announcedBytes: number): Reservation {
    let reservedBytes = 0;
    let arrivedBytes = 0;
    let isOpen = true;
    const grow = (bytes: number) => {
      this.#checkSize(node, reservedBytes + bytes);
      this.#checkRoom(node, { bytes, blobs: 0 });
      this.#book(node, { bytes, blobs: 0 });
      this.#reservedBytes += bytes;
      reservedBytes += bytes;
    };
    const close = () => {
      if (!isOpen) return;
      isOpen = false;
      this.#reservedBytes -= reservedBytes;
      this.#book(node, { bytes: -reservedBytes, blobs: -1 });
    };
    this.#checkSize(node, announcedBytes);
    this.#checkRoom(node, { bytes: announcedBytes, blobs: 1 });
    this.#book(node, { bytes: 0, blobs: 1 });
    grow(announcedBytes);
    return {
      arrived: (bytes) => {
        arrivedBytes += bytes;
        if (arrivedBytes > reservedBytes) grow(arrivedBytes - reservedBytes);
      },
      stored: (ref) => {
        close();
        this.#charge(node, ref);
      },
      close,
    };
  }

  /** A blob left the store. */
  deleted(hash: BlobHash): void {
    const charge = this.#charges.get(hash);
    if (charge === undefined) return;
    this.#charges.delete(hash);
    this.#book(charge.node, { bytes: -charge.bytes, blobs: -1 });
  }

  /** What the run needs is nobody's charge any more. */
  needed(hashes: ReadonlySet<string>): void {
    for (const hash of [...this.#charges.keys()]) if (hashes.has(hash)) this.deleted(hash);
  }

  /** The node was refused what no honest one asks for. */
  exceeded(node: NodeId, detail: string): void {
    const nowMs = this.#options.timers.steadyMs();
    const account = this.#accounts.get(node);
    if (account !== undefined && nowMs - account.toldMs < toldEveryMs) return;
    this.#forgetIdle(nowMs);
    this.#accounts.set(node, { bytes: 0, blobs: 0, ...account, toldMs: nowMs });
    this.#options.onExceeded(node, fault("limitExceeded", detail));
  }

  #checkSize(node: NodeId, value: number): void {
    const limit = this.#options.limits.blobBytes;
    if (value <= limit) return;
    const error = tooLarge({ limit, value });
    this.exceeded(node, error.message);
    throw error;
  }

  #checkRoom(node: NodeId, more: { bytes: number; blobs: number }): void {
    const { limits, storedBytes } = this.#options;
    const { bytes, blobs } = this.usage(node);
    const over = bytes + more.bytes > limits.bytesOfNode
      ? { limit: "bytesOfNode" as const, value: bytes + more.bytes }
      : blobs + more.blobs > limits.blobsOfNode
      ? { limit: "blobsOfNode" as const, value: blobs + more.blobs }
      : null;
    if (over !== null) {
      const detail = `Cannot store a blob as '${over.limit}' must be at most ${limits[over.limit]}: current value is ` +
        `${over.value}; wait until the run has used or deleted what this node stored`;
      this.exceeded(node, detail);
      throw new BlobError("noSpace", detail);
    }
    const value = storedBytes() + this.#reservedBytes + more.bytes;
    if (value <= limits.capacityBytes) return;
    throw new BlobError(
      "noSpace",
      `Cannot store a blob as 'capacityBytes' must be at most ${limits.capacityBytes}: current value is ${value}`,
    );
  }

  #charge(node: NodeId, { hash, bytes }: BlobRef): void {
    if (this.#charges.has(hash)) return; // another node stored the same bytes first
    this.#charges.set(hash, { node, bytes });
    this.#book(node, { bytes, blobs: 1 });
  }

  #book(node: NodeId, more: { bytes: number; blobs: number }): void {
    const { bytes, blobs, toldMs } = this.#accounts.get(node) ?? { bytes: 0, blobs: 0, toldMs: -Infinity };
    this.#accounts.set(node, { bytes: bytes + more.bytes, blobs: blobs + more.blobs, toldMs });
  }

  #forgetIdle(nowMs: number): void {
    for (const [node, { bytes, blobs, toldMs }] of this.#accounts) {
      if (bytes === 0 && blobs === 0 && nowMs - toldMs >= toldEveryMs) this.#accounts.delete(node);
    }
  }
}
