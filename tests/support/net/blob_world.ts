/** An orchestrator's HTTP side and one admitted node's view of it, with manual time and requests that a test can break. */

import { type Fault, fault } from "../../../core/fault.ts";
import type { NodeId } from "../../../core/ids.ts";
import { createApi } from "../../../net/hub_http.ts";
import type { BlobMove } from "../../../net/blobs/blob_routes.ts";
import { BlobIntake } from "../../../net/blobs/blob_intake.ts";
import { BlobQuota, type QuotaLimits } from "../../../net/blobs/blob_quota.ts";
import { HttpBlobs, type HttpBlobsOptions } from "../../../net/blobs/blob_http.ts";
import { BlobError, type BlobStore, type BlobUploads, type LocalBlobStore } from "../../../net/blobs/blobs.ts";
import { defaultNetLimits, type NetLimits } from "../../../net/limits.ts";
import { type UploadSlot, UploadSlots } from "../../../net/blobs/upload_slots.ts";
import { type Authorize, createAuthorize, RequestGate } from "../../../net/auth/request_auth.ts";
import type { HeldTicket, TicketBox } from "../../../net/auth/ticket.ts";
import { LinkSecret } from "../../../net/auth/link_secret.ts";
import { countingRandom, ManualTimers } from "./manual_timers.ts";
import { testSigner, testVerify } from "./test_keys.ts";
import { testTickets } from "./test_tickets.ts";

export interface BlobWorldOptions {
  readonly store: BlobStore;
  readonly blobBytes: number;
  readonly nonces?: number;
  readonly uploads?: BlobUploads; // for blobs that are sent in parts
  readonly timers?: ManualTimers;
  readonly quota?: Partial<QuotaLimits>; // default: no node meets a limit but `blobBytes`
  readonly limits?: Partial<NetLimits>;
}

const refuse = () =>
  Promise.reject(new BlobError("refused", "Cannot accept a part of a blob: this world has no folder"));
const noUploads: BlobUploads = { offset: refuse, append: refuse };

export class BlobWorld {
  readonly timers: ManualTimers;
  readonly node = testSigner(1);
  readonly admitted = new Set<NodeId>([this.node.address]);
  readonly withheld = new Set<string>(); // hashes that no node may read
  readonly errors: Error[] = [];
  readonly moves: BlobMove[] = [];
  readonly blobBytes: number;
  readonly app: ReturnType<typeof createApi>;
  readonly tickets: TicketBox;
  readonly hub = testSigner(200).address;
  readonly quota: BlobQuota;
  readonly slots: WatchedSlots;
  readonly exceeded: { node: NodeId; fault: Fault }[] = [];
  readonly idle = new Set<NodeId>(); // members whose duty must store nothing
  isFull = false;
  fullBytes: number[] = []; // what the disk had no room for
  #seed = 1;

  constructor(options: BlobWorldOptions) {
    const { store, blobBytes, nonces = 64, uploads = noUploads, timers = new ManualTimers() } = options;
    this.timers = timers;
    this.blobBytes = blobBytes;
    this.tickets = testTickets({ hub: this.hub, timers });
    const gate = new RequestGate({
      self: this.hub,
      verify: testVerify,
      tickets: this.tickets,
      admit: (node) => this.admitted.has(node) ? null : fault("notAdmitted", `Cannot serve ${node}: it has not joined`),
      limits: { ...defaultNetLimits, nonces },
      timers: this.timers,
    });
    const limits = { ...defaultNetLimits, ...options.limits };
    const most = Number.MAX_SAFE_INTEGER;
    this.quota = new BlobQuota({
      limits: { blobBytes, bytesOfNode: most, blobsOfNode: most, capacityBytes: most, ...options.quota },
      storedBytes: () => "usage" in store ? (store as LocalBlobStore).usage().bytes : 0,
      onExceeded: (node, fault) => this.exceeded.push({ node, fault }),
      timers,
    });
    const onExceeded = (node: NodeId, detail: string) => this.quota.exceeded(node, detail);
    this.slots = new WatchedSlots({ limits, onExceeded, timers });
    const intake = new BlobIntake({
      quota: this.quota,
      slots: this.slots,
      mayStore: (node) => this.idle.has(node) ? fault("notAdmitted", "Cannot store: no upload is pending") : null,
      isFull: () => this.isFull,
      onDiskFull: (bytes) => this.fullBytes.push(bytes),
    });
    this.app = createApi({
      blobs: {
        ...{ store, uploads, intake },
        check: (request, headers) => gate.check(request, headers),
        mayRead: (asked) => !this.withheld.has(asked.hash),
        onMoved: (move) => this.moves.push(move),
      },
      pages: { "/status": () => Response.json({ run: "test" }) },
      onError: (error) => this.errors.push(error),
    });
  }

  /** What it has seen so far. */
  forget(): void {
    for (const seen of [this.moves, this.exceeded, this.fullBytes]) seen.length = 0;
  }

  authorize(options: { signer?: BlobWorld["node"]; receiver?: NodeId; ticket?: HeldTicket } = {}): Authorize {
    const { signer = this.node, receiver = this.hub, ticket } = options;
    return createAuthorize({
      receiver,
      signer,
      timers: this.timers,
      random: countingRandom(++this.#seed),
      ...ticket === undefined ? {} : { ticket },
    });
  }

  /** As after a hello. */
  ticketOf(node: NodeId, tickets: TicketBox = this.tickets): HeldTicket {
    const secret = new LinkSecret(countingRandom(++this.#seed).bytes(32));
    return { run: "test", hub: this.hub, secret, ticket: tickets.seal({ node, role: "miner", secret }) };
  }

  /** Without a socket, unless `url` is a listener's. */
  client(options: Partial<HttpBlobsOptions> = {}): HttpBlobs {
    return new HttpBlobs({
      url: "http://hub",
      authorize: this.authorize(),
      blobBytes: this.blobBytes,
      timers: this.timers,
      random: countingRandom(++this.#seed),
      ...options.url === undefined ? { fetch: (url: string, init: RequestInit) => this.app.request(url, init) } : {},
      ...options,
    });
  }
}

/** Tells when an upload begins or ends. */
class WatchedSlots extends UploadSlots {
  #changed = Promise.withResolvers<void>();

  override open(...given: Parameters<UploadSlots["open"]>): UploadSlot {
    const { source, close } = super.open(...given);
    this.#tell();
    const closeAndTell = () => {
      close();
      this.#tell();
    };
    return { source, close: closeAndTell };
  }

  /** Until the node has so many open. */
  async until(node: NodeId, count: number): Promise<void> {
    while (this.usage(node) !== count) await this.#changed.promise;
  }

  #tell(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}
