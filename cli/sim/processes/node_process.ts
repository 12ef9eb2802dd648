/**
 * What simulated miners and validators share: a process behind a hotkey, its link, its held segments, its pace.
 *
 * Does for a role machine what cli/node/node_role.ts does: link events in, `send` out, nothing sent between the loss of a
 * session and the next one. Adds machine faults: being killed, sleeping, no longer computing, slowing down.
 */

import { assert } from "../../../core/assert.ts";
import type { BlobRef, NodeId } from "../../../core/ids.ts";
import type { HubMessage, NodeMessage, Role } from "../../../core/protocol/message.ts";
import type { BlobSet } from "./blob_set.ts";
import { Dice } from "../dice.ts";
import type { EventQueue } from "../event_queue.ts";
import { symbolicSegments } from "./symbolic_segments.ts";
import type { Network } from "../network/network.ts";
import type { NodeEnd } from "../network/network_peer.ts";
import type { NodeWatch } from "../checks/node_watch.ts";
import type { SwarmShape } from "../swarm_shape.ts";
import { type Garbage, spoil } from "./garbage.ts";

export interface NodeServices {
  readonly shape: SwarmShape;
  readonly queue: EventQueue;
  readonly network: Network;
  readonly blobs: BlobSet;
  /** The first of these blobs that the hub's store does not give to the node: missing, or not permitted. */
  readonly missing: (node: NodeId, refs: readonly BlobRef[]) => BlobRef | null;
  readonly seed: number;
  readonly watch: NodeWatch;
  readonly ended: (process: NodeProcess) => void;
}

/** Link events that both machines know. */
export type LinkEvent =
  | { readonly type: "connected"; readonly resumed: boolean }
  | { readonly type: "disconnected" }
  | { readonly type: "messageReceived"; readonly message: HubMessage; readonly segments: readonly BlobRef[] }
  | { readonly type: "stopRequested"; readonly reason: string };

const stragglerFactor = 10;
const storeRetryMs = 1000; // while the orchestrator is down its store is too

export abstract class NodeProcess implements NodeEnd {
  readonly node: NodeId;
  abstract readonly role: Role;
  readonly segments = symbolicSegments();
  readonly bornMs: number;
  protected readonly services: NodeServices;
  readonly #dice: Dice; // of compute times
  readonly #slowness: number;
  #hasSession = false;
  #stuckUntilMs = 0;
  #slowUntilMs = 0;
  #garbage: Garbage | null = null;
  isAlive = true;
  isHonest = true; // never lied, spoiled or flooded
  busyMs = 0; // of the device

  constructor(node: NodeId, services: NodeServices) {
    this.node = node;
    this.services = services;
    this.bornMs = services.queue.nowMs;
    this.#dice = new Dice(services.seed, `compute ${node}`);
    this.#slowness = services.shape.equal === undefined ? this.#dice.slowness() : 1;
  }

  protected abstract take(event: LinkEvent): void;

  /** Segment holders that the machine's state accounts for. */
  abstract heldByState(): number;

  connected(resumed: boolean): void {
    this.#hasSession = true;
    this.take({ type: "connected", resumed });
  }

  disconnected(): void {
    this.take({ type: "disconnected" });
  }

  sessionLost(): void {
    this.#hasSession = false;
  }

  refused(): void {
    this.services.watch.refused(this);
    this.#end();
  }

  received(message: HubMessage, segments: readonly BlobRef[]): void {
    if (!this.isAlive) return;
    for (const ref of segments) this.segments.hold(ref);
    this.take({ type: "messageReceived", message, segments });
  }

  requestStop(reason: string): void {
    if (this.isAlive) this.take({ type: "stopRequested", reason });
  }

  protected send(message: NodeMessage, attachments: readonly BlobRef[] = []): void {
    if (!this.#hasSession) return;
    for (const ref of attachments) this.segments.get(ref);
    if (this.#garbage === null) return this.services.network.sendToHub(this.node, message, attachments);
    const spoiled = spoil({ message, segments: attachments }, this.#garbage);
    this.services.network.sendToHub(this.node, spoiled.message, spoiled.segments);
  }

  /** A message that no machine of ours would send now. */
  sendStale(message: NodeMessage, segments: readonly BlobRef[]): void {
    this.isHonest = false;
    if (this.#hasSession && this.isAlive) this.services.network.sendToHub(this.node, message, segments);
  }

  /** The machine has finished. */
  protected finish(): void {
    this.services.network.leave(this.node);
    this.#end();
  }

  #end(): void {
    this.isAlive = false;
    this.services.ended(this);
  }

  // ----------------------------------------------------------------------------------------------------- compute

  /** Calls back when work of this much median-machine time is done; `bytes` go to or come from the store. */
  protected compute(
    work: { medianMs: number; bytes: number; onDevice: boolean },
    done: (computeMs: number) => void,
  ): void {
    const { queue, network } = this.services;
    const isSlow = queue.nowMs < this.#slowUntilMs;
    const jitter = this.services.shape.equal === undefined ? 0.9 + 0.2 * this.#dice.unit() : 1;
    const factor = this.#slowness * (isSlow ? stragglerFactor : 1) * jitter;
    const computeMs = Math.ceil(work.medianMs * factor);
    const transferMs = work.bytes === 0 ? 0 : network.transferMs(this.node, work.bytes);
    if (work.onDevice) this.busyMs += computeMs;
    queue.after(computeMs + transferMs, () => this.#whenAble(work.bytes > 0, () => done(computeMs)));
  }

  #whenAble(usesStore: boolean, done: () => void): void {
    if (!this.isAlive) return;
    const { queue, network } = this.services;
    if (queue.nowMs < this.#stuckUntilMs) queue.at(this.#stuckUntilMs, () => this.#whenAble(usesStore, done));
    else if (usesStore && !network.isHubUp) queue.after(storeRetryMs, () => this.#whenAble(usesStore, done));
    else done();
  }

  // ------------------------------------------------------------------------------------------------------ faults

  kill(): void {
    assert(this.isAlive, "Cannot kill a process that has ended");
    this.services.network.kill(this.node);
    this.#end();
  }

  stickFor(forMs: number): void {
    this.#stuckUntilMs = Math.max(this.#stuckUntilMs, this.services.queue.nowMs + forMs);
  }

  slowDownFor(forMs: number): void {
    this.#slowUntilMs = Math.max(this.#slowUntilMs, this.services.queue.nowMs + forMs);
  }

  spoilResults(count: number): void {
    this.isHonest = false;
    this.#garbage = { left: count };
  }

  /** Ends everything that slowed or corrupted this process. */
  recover(): void {
    this.#stuckUntilMs = this.#slowUntilMs = 0;
    this.#garbage = null;
  }
}
