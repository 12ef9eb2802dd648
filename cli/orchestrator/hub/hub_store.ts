/**
 * The orchestrator's store as members see it: blobs and unfinished uploads behind one gate, with shares derived from
 * the run.
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
  mayStore(node: NodeId): Fault | null;
  /** Reported at a bounded rate. */
  quotaExceeded(node: NodeId, fault: Fault): void;
  readonly isFull: boolean;
  onDiskFull(bytes: number): void;
}

interface HubStoreOptions {
  readonly folder: string;
  readonly store: LocalBlobStore;
  readonly stageFloats: readonly number[];
  readonly codec: PayloadCodec;
  readonly states: number; // per round, at most
  /** Members' share of the store. */
  readonly capacityBytes: number;
  readonly limits: NetLimits;
  readonly timers: Timers;
}

const unfinishedBlobs = 4; // one or two under way, the others abandoned

export class HubStore {
  readonly blobs: HubBlobs;
  readonly quota: BlobQuota;
  readonly #options: HubStoreOptions;
  readonly #uploads: KeptUploads;
  #members: MemberStore | null = null;

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

  lost(hash: BlobHash): void {
    this.quota.deleted(hash);
  }

  async close(): Promise<void> {
    await this.#uploads.close();
  }
}
