/**
 * The orchestrator's store as members see it: blobs and unfinished uploads behind one gate, with every member's share
 * derived from the run.
 */

import { type Allowance, storeAllowance } from "../../../core/update/payload/allowance.ts";
import type { PayloadCodec } from "../../../core/update/payload/payload_codec.ts";
import type { Fault } from "../../../core/fault.ts";
import type { BlobHash, NodeId } from "../../../core/ids.ts";
import { BlobIntake } from "../../../net/blobs/blob_intake.ts";
import { BlobQuota } from "../../../net/blobs/blob_quota.ts";
import type { BlobRoutesOptions } from "../../../net/blobs/blob_routes.ts";
import type { KeptUploads, LocalBlobStore } from "../../../net/blobs/blobs.ts";
import type { NetLimits } from "../../../net/limits.ts";
import type { Timers } from "../../../net/timers.ts";
import { UploadSlots } from "../../../net/blobs/upload_slots.ts";
import { type HubBlobs, hubBlobs } from "../../roles/blob_access.ts";
import { openRunUploads } from "../../roles/stores.ts";

export interface MemberStore {
  /** Null: the node has a duty to store something. */
  mayStore(node: NodeId): Fault | null;
  /** Reported at a bounded rate. */
  quotaExceeded(node: NodeId, fault: Fault): void;
  readonly isFull: boolean;
  onDiskFull(bytes: number): void;
}

export interface HubStoreOptions {
  readonly folder: string; // of the run
  readonly store: LocalBlobStore;
  readonly stageFloats: readonly number[];
  readonly codec: PayloadCodec; // of the run's payloads
  readonly states: number; // that a miner shows in a round at most
  /** Of members' blobs; the rest of the store is reserved for the orchestrator. */
  readonly capacityBytes: number;
  readonly limits: NetLimits;
  readonly timers: Timers;
}

const unfinishedBlobs = 4; // of the largest size: one or two are being sent, the others were abandoned

export class HubStore {
  readonly blobs: HubBlobs;
  readonly quota: BlobQuota;
  readonly #options: HubStoreOptions;
  readonly #uploads: KeptUploads;
  #members: MemberStore | null = null; // the run, once it has begun

  private constructor(options: HubStoreOptions, { uploads, share }: { uploads: KeptUploads; share: Allowance }) {
    const { store, capacityBytes, timers } = options;
    this.#options = options;
    this.#uploads = uploads;
    const { blobBytes, bytes, blobs } = share;
    this.quota = new BlobQuota({
      limits: { blobBytes, bytesOfNode: bytes, blobsOfNode: blobs, capacityBytes },
      storedBytes: () => store.usage().bytes,
      onExceeded: (node, fault) => this.#members?.quotaExceeded(node, fault),
      timers,
    });
    this.blobs = hubBlobs(store, this.quota);
  }

  static async open(options: HubStoreOptions): Promise<HubStore> {
    const { folder, store, limits, timers, stageFloats, codec, states } = options;
    const share = storeAllowance(stageFloats, { codec, states });
    const { blobBytes } = share;
    const uploads = await openRunUploads({
      ...{ folder: `${folder}/uploads`, store, timers },
      limits: { ...limits, blobBytes, uploadBytesOfNode: unfinishedBlobs * blobBytes },
    });
    return new HubStore(options, { uploads, share });
  }

  routes(members: MemberStore, checks: Pick<BlobRoutesOptions, "check" | "mayRead" | "onMoved">): BlobRoutesOptions {
    const { store, limits, timers } = this.#options;
    this.#members = members;
    const onExceeded = (node: NodeId, detail: string) => this.quota.exceeded(node, detail);
    const intake = new BlobIntake({
      quota: this.quota,
      slots: new UploadSlots({ limits, onExceeded, timers }),
      mayStore: (node) => members.mayStore(node),
      isFull: () => members.isFull,
      onDiskFull: (bytes) => members.onDiskFull(bytes),
    });
    return { store, uploads: this.#uploads, intake, ...checks };
  }

  /** Members are no longer charged for it. */
  lost(hash: BlobHash): void {
    this.quota.deleted(hash);
  }

  async close(): Promise<void> {
    await this.#uploads.close();
  }
}
