/**
 * How much members may keep in the orchestrator's store, and which node each blob is charged to: the one that stored it
 * first, until the blob is deleted or the run needs it.
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

interface BlobQuotaOptions {
  readonly limits: QuotaLimits;
  /** All bytes in the store, whoever stored them. */
  readonly storedBytes: () => number;
  readonly onExceeded: (node: NodeId, fault: Fault) => void;
  readonly timers: Timers;
}

interface Reservation {
  /** Beyond the announced size more is reserved, or refused. */
  arrived(bytes: number): void;
  stored(ref: BlobRef): void;
  close(): void;
}

interface Account {
  bytes: number; // charged and reserved
  blobs: number;
  toldMs: number;
}

const toldEveryMs = 1_000; // a flood of refusals must not become a flood of events

export class BlobQuota {
  readonly #options: BlobQuotaOptions;
  readonly #accounts = new Map<NodeId, Account>();
  readonly #charges = new Map<BlobHash, { readonly node: NodeId; readonly bytes: number }>();
  #reservedBytes = 0;

  constructor(options: BlobQuotaOptions) {
    this.#options = options;
  }

  usage(node: NodeId): { bytes: number; blobs: number } {
    const { bytes = 0, blobs = 0 } = this.#accounts.get(node) ?? {};
    return { bytes, blobs };
  }

  /** Throws if there is no space. Unannounced bytes are reserved as they arrive. */
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

  deleted(hash: BlobHash): void {
    const charge = this.#charges.get(hash);
    if (charge === undefined) return;
    this.#charges.delete(hash);
    this.#book(charge.node, { bytes: -charge.bytes, blobs: -1 });
  }

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
