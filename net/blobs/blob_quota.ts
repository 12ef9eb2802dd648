/**
 * How much members may keep in the orchestrator's store, and which node each blob is charged to.
 *
 * A blob is charged to the node that stored it first, until it is deleted or the run needs it. Space for uploads is reserved
 * in advance. Out of scope: storing (blob_disk.ts), which blobs are needed (the machine), consequences for a node that is
 * refused too often (reported through `onExceeded` at a bounded rate). Invariant: charges plus reservations are at most
 * `bytesOfNode` and `blobsOfNode` per node; stored plus reserved bytes of all members are at most `capacityBytes`.
 */

import { type Fault, fault } from "../../core/fault.ts";
import type { BlobHash, BlobRef, NodeId } from "../../core/ids.ts";
import { BlobError, tooLarge } from "./blobs.ts";
import type { Timers } from "../timers.ts";

export interface QuotaLimits {
  readonly blobBytes: number; // the largest blob that an honest member stores
  readonly bytesOfNode: number;
  readonly blobsOfNode: number;
  readonly capacityBytes: number; // the limit to which members' uploads may fill the store
}

export interface BlobQuotaOptions {
  readonly limits: QuotaLimits;
  /** All bytes in the store, whoever stored them. */
  readonly storedBytes: () => number;
  /** The node exceeded its quota. */
  readonly onExceeded: (node: NodeId, fault: Fault) => void;
  readonly timers: Timers;
}

/** A reservation for one arriving blob. */
export interface Reservation {
  /** More bytes have arrived; beyond the announced size more is reserved, or refused. */
  arrived(bytes: number): void;
  /** The upload became a stored blob. */
  stored(ref: BlobRef): void;
  /** Releases the reservation. */
  close(): void;
}

interface Account {
  bytes: number; // charged and reserved
  blobs: number;
  toldMs: number; // when `onExceeded` was last called for it
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

  /** Reserves space for a blob of this many bytes; throws if there is none. Unannounced bytes are reserved as they arrive. */
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

  /** A blob that the run needs is no longer charged to any node. */
  needed(hashes: ReadonlySet<string>): void {
    for (const hash of [...this.#charges.keys()]) if (hashes.has(hash)) this.deleted(hash);
  }

  /** The node was refused something that no honest node requests. */
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
      const detail = `Cannot store a blob: '${over.limit}' must be at most ${limits[over.limit]}, and would be ` +
        `${over.value}; wait until the run has used or deleted what this node stored`;
      this.exceeded(node, detail);
      throw new BlobError("noSpace", detail);
    }
    const value = storedBytes() + this.#reservedBytes + more.bytes;
    if (value <= limits.capacityBytes) return;
    throw new BlobError(
      "noSpace",
      `Cannot store a blob: 'capacityBytes' must be at most ${limits.capacityBytes}, and would be ${value}`,
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
