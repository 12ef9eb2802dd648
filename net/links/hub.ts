/**
 * The orchestrator's end of every link, over any wire.
 *
 * A hotkey has at most one session and one wire. Of two processes the first one stays while its link is alive; of one
 * process's connections the newest wins. Nothing from a peer reaches the application before its hello is verified,
 * apart from counts of refusals. Changing the wall clock ends no session; links are only dialled again.
 */

import { type Fault, fault, type Parsed, refused } from "../../core/fault.ts";
import type { NodeId } from "../../core/ids.ts";
import type { Role } from "../../core/protocol/message.ts";
import { Channel } from "./channel.ts";
import { encodeFrame, type Segment } from "../messages/frame.ts";
import { linkMacs } from "../auth/frame_mac.ts";
import { FrameMemory } from "../messages/frame_memory.ts";
import { clockText, compareClocks } from "../auth/clocks.ts";
import { createAccept, createRefusal, hex, type ProvenHello } from "../auth/hello.ts";
import type { Hello } from "../auth/hello_records.ts";
import { type Guest, Reception } from "./reception.ts";
import type { RefusalCounts } from "../auth/refusals.ts";
import { type Cancel, every } from "../timers.ts";
import type { HubEvent, HubOptions, HubTransport } from "./transport.ts";
import type { Wire, WireHandler } from "./wire.ts";

interface Peer<In> {
  readonly node: NodeId;
  readonly role: Role;
  readonly session: string;
  readonly channel: Channel<In>;
  wire: Wire | null;
  connection: number; // of its latest wire, in the order of acceptance
  cancelExpiry: Cancel;
  readonly process: string;
  readonly sinceMs: number;
  origin: string;
  rivalSaidMs: number; // when it was last notified of another process; monotonic
}

/**
 * Why a process is refused while another one's link with the same hotkey is alive. It retries until that one is gone.
 */
export const rivalText = "Another process uses this hotkey";

/** How often a connected process is notified of a rival. */
const rivalEveryMs = 60_000;

export class Hub<In, Out> implements HubTransport<Out> {
  readonly #options: HubOptions<In>;
  readonly #peers = new Map<NodeId, Peer<In>>();
  readonly #reception: Reception;
  readonly #memory = new FrameMemory();
  readonly #stopBeating: Cancel;
  #paused = false;
  #clockMs: number; // the wall clock by the monotonic one, when nodes last learned it

  constructor(options: HubOptions<In>) {
    const { timers, limits } = options;
    this.#clockMs = timers.nowMs() - timers.steadyMs();
    this.#options = options;
    this.#reception = new Reception({
      ...options,
      onReport: (text, counts) => this.#emit({ type: "refusals", text, counts }),
    });
    this.#stopBeating = every(timers, limits.heartbeatMs, () => this.#beat());
  }

  get refusals(): RefusalCounts {
    return this.#reception.refusals;
  }

  accept(wire: Wire): WireHandler {
    const guest = this.#reception.greet(wire);
    if (guest === null) return { frame: () => {}, closed: () => {} };
    let peer: Peer<In> | null = null;
    return {
      frame: (bytes) => {
        if (peer !== null) {
          if (peer.wire === wire) peer.channel.frame(bytes);
        } else if (this.#reception.has(guest)) peer = this.#takeHello(guest, bytes);
      },
      closed: (reason) => {
        this.#reception.dismiss(guest);
        if (peer !== null && peer.wire === wire) this.#disconnected(peer, reason);
      },
    };
  }

  send(node: NodeId, message: Out, segments: readonly Segment[] = []): Parsed<number> {
    const peer = this.#peers.get(node);
    if (peer === undefined) return refused("notAdmitted", `Cannot send a message: ${node} has no session here`);
    const bytes = peer.channel.send(message, segments);
    if (!bytes.ok && peer.channel.overflowed) this.#lose(peer, bytes.fault);
    return bytes;
  }

  close(node: NodeId, reason: Fault): void {
    const peer = this.#peers.get(node);
    if (peer !== undefined) this.#end(peer, reason);
  }

  pause(): void {
    this.#paused = true;
    for (const peer of this.#peers.values()) peer.channel.pause();
  }

  resume(): void {
    this.#paused = false;
    for (const peer of this.#peers.values()) {
      if (this.#paused) return; // a delivered message may pause again
      peer.channel.resume();
    }
  }

  outboxBytes(node: NodeId): number {
    return this.#peers.get(node)?.channel.outboxBytes ?? 0;
  }

  /** Ends no session: the nodes reconnect, as after a crash. */
  shutDown(reason: string): void {
    this.#stopBeating();
    this.#reception.close(reason);
    for (const peer of this.#peers.values()) {
      peer.cancelExpiry();
      peer.channel.detach();
      peer.wire?.close(reason);
      peer.wire = null;
    }
    this.#peers.clear();
  }

  #emit(event: HubEvent<In>): void {
    this.#options.onEvent(event);
  }

  #takeHello(guest: Guest, bytes: Uint8Array): Peer<In> | null {
    const proven = this.#reception.takeHello(guest, bytes);
    if (proven === null) return null;
    const { hello } = proven;
    if (guest.connection < (this.#peers.get(hello.node)?.connection ?? 0)) {
      // The node abandoned this connection before it made the newer one: its hello was delayed.
      const detail = "This node already has a newer connection";
      return this.#reception.refuse(guest, fault("staleResult", detail));
    }
    const resumable = this.#findResumable(hello);
    const rival = resumable === null ? this.#findRival(hello) : null;
    if (rival !== null) return this.#reception.refuse(guest, this.#rivalFault(rival, originOf(guest.wire)));
    if (resumable === null && !this.#hasRoomFor(hello.node)) {
      const detail = `'peers' must be at most ${this.#options.limits.peers}; try again later`;
      return this.#reception.refuse(guest, fault("limitExceeded", detail));
    }
    this.#reception.dismiss(guest);
    return this.#connect(proven, { guest, resumable });
  }

  #findResumable(hello: Hello): Peer<In> | null {
    const peer = this.#peers.get(hello.node);
    if (peer === undefined || hello.resume === null) return null;
    const fits = peer.session === hello.resume.session && peer.role === hello.role;
    return fits && peer.channel.canResume(hello.resume.received) ? peer : null;
  }

  #findRival(hello: Hello): Peer<In> | null {
    const peer = this.#peers.get(hello.node);
    return peer === undefined || peer.wire === null || peer.process === hello.process ? null : peer;
  }

  /** The first one stays: if the newer one won, two services would keep replacing each other. */
  #rivalFault(peer: Peer<In>, from: string): Fault {
    const { timers } = this.#options;
    const nowMs = timers.steadyMs();
    if (nowMs - peer.rivalSaidMs >= rivalEveryMs) {
      peer.rivalSaidMs = nowMs;
      this.#emit({ type: "rivalRefused", peer: peer.node, from });
    }
    const where = peer.origin === from ? `from the same address as this one, ${from}` : `from ${peer.origin}`;
    const since = `signed in ${where} at ${clockText(peer.sinceMs)}`;
    return fault(
      "wrongPhase",
      `${rivalText}: it ${since}, and its link is alive. Stop it, or wait until it is gone`,
    );
  }

  /** A full table drops the session without a link whose last link is the oldest. */
  #hasRoomFor(node: NodeId): boolean {
    if (this.#peers.has(node) || this.#peers.size < this.#options.limits.peers) return true;
    let oldest: Peer<In> | null = null;
    for (const peer of this.#peers.values()) {
      if (peer.wire === null && peer.connection < (oldest?.connection ?? Infinity)) oldest = peer;
    }
    if (oldest === null) return false;
    this.#lose(oldest, fault("limitExceeded", "The session without a link was dropped: 'peers' is full"));
    return true;
  }

  #connect(proven: ProvenHello, from: { guest: Guest; resumable: Peer<In> | null }): Peer<In> {
    const { hello } = proven;
    const { guest: { wire, connection }, resumable } = from;
    if (resumable === null) this.#displace(hello.node);
    else if (resumable.wire !== null) this.#dropWire(resumable, "replaced by a newer connection of this node");
    const peer = resumable ?? this.#createPeer(hello);
    const resumed = resumable !== null;
    const { signer, tickets, timers, limits: { frameBytes, headerBytes } } = this.#options;
    const limits = { frameBytes, headerBytes };
    const oursMs = timers.nowMs();
    const timeMs = Math.floor(oursMs);
    const terms = { session: peer.session, resumed, received: peer.channel.received, timeMs, limits };
    wire.send(encodeFrame({ header: createAccept(proven, { terms, signer, tickets }) }));
    wire.trust?.();
    peer.cancelExpiry();
    peer.wire = wire;
    peer.origin = originOf(wire);
    peer.connection = connection;
    const macs = linkMacs({ secret: proven.secret, claim: hello, side: "hub" });
    peer.channel.attach(wire, { macs, peerReceived: resumed ? hello.resume?.received ?? 0 : 0 });
    const tookMs = timers.steadyMs() - from.guest.challengedAtMs;
    const clock = compareClocks({ theirsMs: hello.timeMs, oursMs, tookMs });
    this.#emit({ type: "peerConnected", peer: peer.node, role: peer.role, resumed, clock });
    return peer;
  }

  /**
   * The network or a stranger causes damage, so the peer is not blamed for it. Any other violation is the peer's fault.
   */
  #damaged(peer: NodeId, reason: Fault): void {
    this.#emit({ type: reason.code === "malformedFrame" ? "linkDamaged" : "fault", peer, fault: reason });
  }

  #createPeer(hello: Hello): Peer<In> {
    const { limits, read, random, timers } = this.#options;
    const { node, role } = hello;
    const channel: Channel<In> = new Channel<In>({
      limits,
      received: {
        headerBytes: Math.min(limits.headerBytes, limits.nodeHeaderBytes),
        headerValues: limits.nodeHeaderValues,
      },
      memory: this.#memory,
      read,
      onMessage: (received) => this.#emit({ type: "message", peer: node, role, ...received }),
      onRefusedMessage: (reason) => this.#emit({ type: "fault", peer: node, fault: reason }),
      onControl: () => channel.distrust(fault("malformedFrame", "An unnumbered header arrived after the hello")),
      onDamaged: (reason) => {
        this.#damaged(node, reason);
        if (peer.wire !== null) this.#dropWire(peer, reason.detail);
      },
      onBroken: (reason) => {
        this.#damaged(node, reason);
        this.#lose(peer, reason);
      },
    });
    const session = hex(random.bytes(32));
    const peer: Peer<In> = {
      process: hello.process,
      sinceMs: timers.nowMs(),
      origin: "",
      rivalSaidMs: -Infinity,
      node,
      role,
      session,
      channel,
      wire: null,
      connection: 0,
      cancelExpiry: () => {},
    };
    if (this.#paused) channel.pause();
    this.#peers.set(node, peer);
    return peer;
  }

  /** The hello is from the same process, or the other process's link was lost. */
  #displace(node: NodeId): void {
    const peer = this.#peers.get(node);
    if (peer === undefined) return;
    this.#lose(peer, fault("notAdmitted", "A newer session of this hotkey has begun"));
  }

  /** Nodes stamp their requests in this clock's time, so they need a new hello after it was set. */
  #wasClockSet(): boolean {
    const { timers, limits } = this.#options;
    const aheadMs = timers.nowMs() - timers.steadyMs();
    if (Math.abs(aheadMs - this.#clockMs) < limits.clockSkewMs / 4) return false;
    this.#clockMs = aheadMs;
    return true;
  }

  #disconnected(peer: Peer<In>, reason: string): void {
    const { timers, limits } = this.#options;
    peer.wire = null;
    peer.channel.detach();
    peer.cancelExpiry = timers.after(limits.sessionKeepMs, () => {
      const detail = `The session had no link for ${limits.sessionKeepMs} ms`;
      this.#lose(peer, fault("notAdmitted", detail));
    });
    this.#emit({ type: "peerDisconnected", peer: peer.node, reason });
  }

  #dropWire(peer: Peer<In>, reason: string): void {
    const wire = peer.wire;
    this.#disconnected(peer, reason);
    wire?.close(reason);
  }

  #end(peer: Peer<In>, reason: Fault): void {
    this.#peers.delete(peer.node);
    peer.cancelExpiry();
    peer.channel.sendControl(createRefusal(reason));
    peer.channel.detach();
    peer.wire?.close(reason.detail);
    peer.wire = null;
  }

  #lose(peer: Peer<In>, reason: Fault): void {
    if (this.#peers.get(peer.node) !== peer) return; // ended by a callback in the meantime
    this.#end(peer, reason);
    this.#emit({ type: "peerLost", peer: peer.node, fault: reason });
  }

  #beat(): void {
    const { limits } = this.#options;
    const isClockSet = this.#wasClockSet();
    for (const peer of [...this.#peers.values()]) {
      if (isClockSet && peer.wire !== null) {
        this.#dropWire(peer, "the orchestrator's clock was set; comparing clocks again");
      }
      if (peer.wire === null || peer.channel.beat()) continue;
      this.#dropWire(peer, `no heartbeat for ${limits.heartbeatMs * limits.silentHeartbeats} ms`);
    }
  }
}

const originOf = ({ origin }: Wire): string => origin ?? "this machine";
