/**
 * What simulated miners and validators share: a process behind a hotkey, its link, its held segments, its pace.
 *
 * Owns the edges of production's runtime (cli/node/node_runtime.ts), and machine faults: being killed, sleeping, no longer
 * computing, slowing down.
 */

import { assert } from "../../../../core/assert.ts";
import type { Parsed } from "../../../../core/fault.ts";
import type { BlobRef, NodeId } from "../../../../core/ids.ts";
import type { NodeMessage, Role } from "../../../../core/protocol/message.ts";
import type { Timers } from "../../../../net/timers.ts";
import type { LinkChange, NodeEdges } from "../../../../cli/node/node_runtime.ts";
import type { BlobSet } from "./blob_set.ts";
import { Dice } from "../dice.ts";
import type { EventQueue } from "../../world/event_queue.ts";
import { symbolicSignature } from "./symbolic_signature.ts";
import { symbolicSegments } from "./symbolic_segments.ts";
import type { Network } from "../network/network.ts";
import type { NodeEnd } from "../network/network_peer.ts";
import type { NodeWatch } from "../checks/node_watch.ts";
import type { SwarmShape } from "../swarm_shape.ts";
import { type Garbage, spoil } from "./garbage.ts";

export interface NodeServices {
  readonly shape: SwarmShape;
  readonly queue: EventQueue;
  readonly timers: Timers;
  readonly network: Network;
  readonly blobs: BlobSet;
  /** The first of these blobs that the orchestrator's store does not give to the node: missing, or not permitted. */
  readonly missing: (node: NodeId, refs: readonly BlobRef[]) => BlobRef | null;
  readonly seed: number;
  readonly watch: NodeWatch;
  readonly ended: (process: NodeProcess) => void;
}

type Edges<Effect, Result> = NodeEdges<Effect, Result, BlobRef, BlobRef>;

/** A `NodeRuntime` of either role. */
interface Runtime {
  readonly hasSession: boolean;
  take(change: LinkChange<BlobRef>): void;
  enqueue(event: { readonly type: "stopRequested"; readonly reason: string }): void;
  close(): void;
}

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

  protected abstract readonly runtime: Runtime;

  /** Segment holders that the machine's state accounts for. */
  abstract heldByState(): number;

  /** Everything around the runtime but the work, which differs by role. */
  protected edges<Effect, Result>(work: Edges<Effect, Result>["work"]): Edges<Effect, Result> {
    const never = () => assert(false, "A simulated node takes every message at once");
    return {
      timers: this.services.timers,
      links: {
        send: (message, segments = []) => this.#send(message, segments),
        pause: never,
        resume: never,
      },
      segments: this.segments,
      sign: (statement) => symbolicSignature(this.node, statement),
      attach: (ref) => this.segments.get(ref),
      work,
      report: () => {},
      onFinish: () => {
        this.services.network.leave(this.node);
        this.#end();
      },
      onFailure: (error) => {
        throw error;
      },
    };
  }

  take(change: LinkChange<BlobRef> | { readonly type: "refused" }): void {
    if (change.type !== "refused") return this.runtime.take(change);
    this.services.watch.refused(this);
    this.#end();
  }

  requestStop(reason: string): void {
    this.runtime.enqueue({ type: "stopRequested", reason });
  }

  #send(message: NodeMessage, segments: readonly BlobRef[]): Parsed<number> {
    const { network } = this.services;
    if (this.#garbage === null) return network.sendToHub(this.node, message, segments);
    const spoiled = spoil({ message, segments }, this.#garbage);
    return network.sendToHub(this.node, spoiled.message, spoiled.segments);
  }

  /** A message that no machine of ours would send now. */
  sendStale(message: NodeMessage, segments: readonly BlobRef[]): void {
    this.isHonest = false;
    if (this.runtime.hasSession && this.isAlive) this.services.network.sendToHub(this.node, message, segments);
  }

  #end(): void {
    this.isAlive = false;
    this.runtime.close();
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
