/**
 * The contract of net/links/transport.ts for messages instead of frames, in virtual time: one session a node, messages
 * once and in order, each after latency, jitter and its bytes over the bandwidth; links break, nodes dial again,
 * sessions resume or are lost.
 *
 * Lost, doubled and reordered frames appear at this level as a broken link and a resumed session (the frame level has
 * its own suite), so they are breaks here. A hello ends at both sides in one instant. Invariants: a node has at most
 * one session and one link, the newest hello wins; after `sessionLost` nothing of the old session arrives.
 */

import { fault, type Parsed, parsed } from "../../../../core/fault.ts";
import type { BlobRef, NodeId } from "../../../../core/ids.ts";
import type { HubMessage, NodeMessage } from "../../../../core/protocol/message.ts";
import { present } from "../../../../core/assert.ts";
import { defaultNetLimits } from "../../../../net/limits.ts";
import { Dice } from "../dice.ts";
import type { LinkShape } from "../../../../cli/swarm/chaos/link_shape.ts";
import type { EventQueue } from "../../world/event_queue.ts";
import { type Lane, letterOf, receivedOf } from "./lane.ts";
import {
  type HubEnd,
  lifeMs,
  type Link,
  nextRetryMs,
  type NodeEnd,
  openPeer,
  openSession,
  type Peer,
  type Session,
} from "./network_peer.ts";

export interface NetworkOptions {
  readonly queue: EventQueue;
  readonly seed: number;
  readonly sessionKeepMs: number;
  readonly links?: LinkShape; // of every node alike. @default drawn for each
}

const { heartbeatMs, silentHeartbeats, helloMs } = defaultNetLimits;
const silentMs = heartbeatMs * silentHeartbeats;
const slowdown = 50; // of a slow link
const gone = fault("notAdmitted", "its session is over");
const unknownPeer: Parsed<number> = { ok: false, fault: gone };

export class Network {
  readonly #options: NetworkOptions;
  readonly #peers = new Map<NodeId, Peer>();
  #hub: HubEnd | null = null; // null: the orchestrator is down
  messages = 0;
  mostOutboxBytes = 0;

  constructor(options: NetworkOptions) {
    this.#options = options;
  }

  get isHubUp(): boolean {
    return this.#hub !== null;
  }

  get #nowMs(): number {
    return this.#options.queue.nowMs;
  }

  // -------------------------------------------------------------------------------------------------- processes

  /** A process begins to dial. A new one behind a known hotkey has no session to resume. */
  start(end: NodeEnd): void {
    let peer = this.#peers.get(end.node);
    if (peer === undefined) {
      peer = openPeer(end, {
        dice: new Dice(this.#options.seed, `network ${end.node}`),
        links: this.#options.links ?? null,
      });
      this.#peers.set(end.node, peer);
    }
    peer.end = end;
    peer.nodeSession = null;
    peer.failedDials = 0;
    this.#dial(peer);
  }

  /** The process is gone: at once for itself; the orchestrator hears a reset, or nothing. */
  kill(node: NodeId): void {
    const peer = this.#peer(node);
    peer.end = null;
    peer.nodeSession = null;
    const { dice } = peer;
    this.#break(peer, { nodeNoticesMs: 0, hubNoticesMs: dice.chance(0.5) ? dice.between(0, 500) : silenceOf(peer) });
  }

  /** The process ends of its own accord: what it has sent still arrives, then the link closes. */
  leave(node: NodeId): void {
    const peer = this.#peer(node);
    const { link } = peer;
    peer.end = null;
    peer.nodeSession = null;
    if (link === null || !link.carries) return;
    link.nodeSees = false;
    const atMs = Math.max(this.#nowMs, link.session.toHub.lastArrivalMs);
    this.#options.queue.at(atMs, () => {
      link.carries = false;
      this.#hubNotices(peer, link);
    });
  }

  hubUp(hub: HubEnd): void {
    this.#hub = hub;
  }

  /** Every link resets and every session is forgotten; nodes find out by dialling. */
  hubDown(): void {
    this.#hub = null;
    for (const peer of this.#peers.values()) {
      this.#break(peer, { nodeNoticesMs: peer.dice.between(0, 2000), hubNoticesMs: Infinity });
      peer.hubSession = null;
    }
  }

  // --------------------------------------------------------------------------------------------------- messages

  sendToNode(node: NodeId, message: HubMessage, segments: readonly BlobRef[]): Parsed<number> {
    const peer = this.#peers.get(node);
    const session = peer?.hubSession;
    if (peer === undefined || session === undefined || session === null) return unknownPeer; // it has just gone
    return parsed(this.#send(peer, { session, lane: session.toNode, message, segments }));
  }

  sendToHub(node: NodeId, message: NodeMessage, segments: readonly BlobRef[]): Parsed<number> {
    const peer = this.#peer(node);
    const session = present(peer.nodeSession, "a node sends within a session");
    return parsed(this.#send(peer, { session, lane: session.toHub, message, segments }));
  }

  /** The orchestrator ends the session; `isFinal`: the node may not come back. */
  close(node: NodeId, { isFinal }: { isFinal: boolean }): void {
    const peer = this.#peers.get(node);
    const link = peer?.link ?? null;
    if (peer === undefined || peer.hubSession === null) return;
    const session = peer.hubSession;
    peer.hubSession = null;
    if (link === null || !link.carries || link.session !== session || session.toNode.isHeld) return;
    link.hubSees = false;
    const atMs = Math.max(this.#nowMs + peer.latencyMs, session.toNode.lastArrivalMs);
    this.#options.queue.at(atMs, () => {
      if (!link.carries || !link.nodeSees) return;
      link.carries = false;
      link.nodeSees = false;
      peer.nodeSession = null;
      if (isFinal) return link.end.take({ type: "refused" });
      link.end.take({ type: "sessionLost" });
      this.#nodeDisconnected(peer, link.end);
    });
  }

  /** How long a blob of this size takes between this node and the store. */
  transferMs(node: NodeId, bytes: number): number {
    const peer = this.#peer(node);
    return 2 * peer.latencyMs + bytes / this.#bandwidth(peer);
  }

  // ----------------------------------------------------------------------------------------------------- faults

  /** The link breaks; a reset, or silence that each side notices by missing heartbeats. */
  cut(node: NodeId): void {
    const peer = this.#peer(node);
    const isReset = peer.dice.chance(0.5);
    const notice = () => isReset ? peer.dice.between(0, 1000) : silenceOf(peer);
    this.#break(peer, { nodeNoticesMs: notice(), hubNoticesMs: notice() });
  }

  /** Nothing passes one way for a while; the other way works until one side misses heartbeats. */
  partition(node: NodeId, options: { towards: "hub" | "node"; forMs: number }): void {
    const peer = this.#peer(node);
    const { link } = peer;
    peer.unreachableUntilMs = Math.max(peer.unreachableUntilMs, this.#nowMs + options.forMs);
    if (link === null || !link.carries) return;
    const lane = options.towards === "hub" ? link.session.toHub : link.session.toNode;
    lane.isHeld = true;
    this.#options.queue.after(silenceOf(peer), () => {
      if (peer.link === link) this.#break(peer, { nodeNoticesMs: 0, hubNoticesMs: 0 });
    });
  }

  slow(node: NodeId, forMs: number): void {
    this.#peer(node).slowUntilMs = this.#nowMs + forMs;
  }

  /** A sleeping machine neither receives nor sends; it finds its link dead when it wakes. */
  sleep(node: NodeId, forMs: number): void {
    const peer = this.#peer(node);
    peer.unreachableUntilMs = Math.max(peer.unreachableUntilMs, this.#nowMs + forMs);
    this.#break(peer, { nodeNoticesMs: forMs, hubNoticesMs: silenceOf(peer) });
  }

  /** Ends every link fault. */
  heal(): void {
    for (const peer of this.#peers.values()) peer.unreachableUntilMs = peer.slowUntilMs = 0;
  }

  isConnected(node: NodeId): boolean {
    const link = this.#peers.get(node)?.link ?? null;
    return link !== null && link.carries && link.hubSees && link.nodeSees;
  }

  // ------------------------------------------------------------------------------------------------------ inside

  #peer(node: NodeId): Peer {
    return present(this.#peers.get(node), `a peer for ${node}`);
  }

  #bandwidth(peer: Peer): number {
    return this.#nowMs < peer.slowUntilMs ? peer.bytesPerMs / slowdown : peer.bytesPerMs;
  }

  #send(
    peer: Peer,
    options: {
      session: Session;
      lane: Lane;
      message: HubMessage | NodeMessage;
      segments: readonly BlobRef[];
    },
  ): number {
    const { session, lane, message, segments } = options;
    const letter = letterOf(message, segments);
    lane.push(letter);
    this.messages += 1;
    if (lane.bytes > this.mostOutboxBytes) this.mostOutboxBytes = lane.bytes;
    const { link } = peer;
    if (link !== null && link.carries && link.session === session) {
      this.#carry(peer, { link, lane, bytes: letter.bytes });
    }
    return letter.bytes;
  }

  /** Puts a letter on the link: it arrives behind those before it. */
  #carry(peer: Peer, { link, lane, bytes }: { link: Link; lane: Lane; bytes: number }): void {
    if (lane.isHeld) return;
    const { queue } = this.#options;
    lane.freeAtMs = Math.max(this.#nowMs, lane.freeAtMs) + bytes / this.#bandwidth(peer);
    const jitterMs = peer.dice.between(0, peer.jitterMs);
    lane.lastArrivalMs = Math.max(lane.lastArrivalMs, lane.freeAtMs + peer.latencyMs + jitterMs);
    queue.at(lane.lastArrivalMs, () => this.#arrive(peer, link, lane));
  }

  #arrive(peer: Peer, link: Link, lane: Lane): void {
    if (!link.carries || lane.isHeld) return; // still in the lane, for the next link
    const letter = present(lane.take(), "every delivery has a letter");
    if (lane === link.session.toHub) {
      if (peer.hubSession !== link.session) return; // the orchestrator has closed it
      const { end: { node, role } } = link;
      this.#hub?.take({ type: "message", peer: node, role, ...receivedOf<NodeMessage>(letter) });
    } else if (peer.end === link.end) link.end.take({ type: "message", ...receivedOf<HubMessage>(letter) });
  }

  #break(peer: Peer, notices: { nodeNoticesMs: number; hubNoticesMs: number }): void {
    const { link } = peer;
    if (link === null || (!link.carries && !link.hubSees && !link.nodeSees)) return;
    const { queue } = this.#options;
    link.carries = false;
    queue.after(notices.nodeNoticesMs, () => this.#nodeNotices(peer, link));
    if (notices.hubNoticesMs < Infinity) queue.after(notices.hubNoticesMs, () => this.#hubNotices(peer, link));
  }

  #nodeNotices(peer: Peer, link: Link): void {
    if (!link.nodeSees) return;
    link.nodeSees = false;
    if (peer.end === link.end) this.#nodeDisconnected(peer, link.end);
  }

  #nodeDisconnected(peer: Peer, end: NodeEnd): void {
    end.take({ type: "disconnected" });
    this.#dialLater(peer);
  }

  #hubNotices(peer: Peer, link: Link): void {
    if (!link.hubSees) return;
    link.hubSees = false;
    if (this.#hub === null || peer.hubSession !== link.session) return;
    peer.detachedAtMs = this.#nowMs;
    this.#hub.take({ type: "peerDisconnected", peer: peer.node, reason: "silent" });
    const { session } = link;
    this.#options.queue.after(this.#options.sessionKeepMs + heartbeatMs, () => this.#expire(peer, session));
  }

  /** A session without a link for too long. */
  #expire(peer: Peer, session: Session): void {
    if (peer.hubSession !== session || peer.link?.hubSees === true || !this.#isOver(peer)) return;
    peer.hubSession = null;
    this.#hub?.take({ type: "peerLost", peer: peer.node, fault: gone });
  }

  #isOver(peer: Peer): boolean {
    return this.#nowMs - peer.detachedAtMs >= this.#options.sessionKeepMs;
  }

  #dialLater(peer: Peer): void {
    const { queue } = this.#options;
    const { end } = peer;
    if (end === null) return; // its process ended when it lost its link
    queue.after(nextRetryMs(peer), () => {
      if (peer.end === end) this.#dial(peer);
    });
  }

  /** Connection, challenge, hello and accept: three ways, or no answer. */
  #dial(peer: Peer): void {
    const { queue } = this.#options;
    const end = present(peer.end, "a process dials");
    const fails = this.#hub === null || this.#nowMs < peer.unreachableUntilMs;
    const tookMs = fails ? (this.#hub === null ? peer.latencyMs : helloMs) : 3 * peer.latencyMs;
    queue.after(tookMs, () => {
      if (peer.end !== end) return;
      if (fails || this.#hub === null || this.#nowMs < peer.unreachableUntilMs) {
        return this.#nodeDisconnected(peer, end);
      }
      this.#join(peer, { end, hub: this.#hub });
    });
  }

  #join(peer: Peer, { end, hub }: { end: NodeEnd; hub: HubEnd }): void {
    const old = peer.link;
    const hubSawLink = old !== null && old.hubSees && peer.hubSession === old.session;
    const resumed = peer.nodeSession !== null && peer.nodeSession === peer.hubSession &&
      (hubSawLink || !this.#isOver(peer));
    if (old !== null) old.carries = old.hubSees = old.nodeSees = false;
    if (peer.hubSession !== null && !resumed) hub.take({ type: "peerLost", peer: peer.node, fault: gone });
    else if (hubSawLink) hub.take({ type: "peerDisconnected", peer: peer.node, reason: "replaced" });
    if (!resumed) {
      if (peer.nodeSession !== null) end.take({ type: "sessionLost" });
      peer.hubSession = peer.nodeSession = openSession();
    }
    const session = present(peer.nodeSession, "a joined node has a session");
    const link: Link = { end, session, carries: true, hubSees: true, nodeSees: true };
    peer.link = link;
    peer.failedDials = 0;
    if (peer.resetMs < Infinity) {
      this.#options.queue.after(lifeMs(peer), () => peer.link === link && link.carries && this.cut(peer.node));
    }
    for (const lane of [session.toHub, session.toNode]) {
      lane.relink(this.#nowMs);
      for (const letter of lane.letters) this.#carry(peer, { link, lane, bytes: letter.bytes });
    }
    hub.take({ type: "peerConnected", peer: peer.node, role: end.role, resumed, clock: null });
    end.take({ type: "connected", resumed });
  }
}

/** How long until a side misses heartbeats. */
const silenceOf = (peer: Peer): number => silentMs + peer.dice.between(0, heartbeatMs);
