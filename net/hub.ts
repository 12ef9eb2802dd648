/**
 * The orchestrator's end of every link, over any wire.
 *
 * Owns: hellos, the table of sessions (one per hotkey), heartbeats, the end of sessions. Refuses: sockets (server.ts and
 * loopback.ts bring wires to `accept`), what messages mean. Invariants: a hotkey has at most one session and one wire, the
 * newest connection wins, also when the hello of an older one arrives late; nothing of a peer reaches the application before
 * its hello is proven; sessions, unproven connections and outboxes are bounded; no wall clock is read but for the
 * age of tickets, so setting it ends no session.
 */

import { type Fault, fault, type Parsed, refused } from "../core/fault.ts";
import type { NodeId } from "../core/ids.ts";
import type { Role } from "../core/protocol/message.ts";
import { Channel } from "./channel.ts";
import { decodeFrame, encodeFrame, type Segment } from "./frame.ts";
import { linkMacs } from "./frame_mac.ts";
import { FrameMemory } from "./frame_memory.ts";
import { checkHello, createAccept, createChallenge, createRefusal, hex, type ProvenHello } from "./hello.ts";
import type { Challenge, Hello } from "./hello_records.ts";
import { type Cancel, every } from "./timers.ts";
import type { HubEvent, HubOptions, HubTransport } from "./transport.ts";
import type { Wire, WireHandler } from "./wire.ts";

interface Peer<In> {
  readonly node: NodeId;
  readonly role: Role;
  readonly session: string;
  readonly channel: Channel<In>;
  wire: Wire | null;
  connection: number; // of its latest wire, in the order the hub accepted them
  cancelExpiry: Cancel; // runs while there is no wire
}

/** A connection that has not proven a hello yet. */
interface Guest {
  readonly wire: Wire;
  readonly connection: number;
  readonly challenge: Challenge;
  readonly cancel: Cancel;
  wasAskedToSign: boolean;
}

/** Damage is nobody's fault: the network does it, and so may a stranger on it. What else breaks the rules is the peer's. */
function linkFault(peer: NodeId, reason: Fault): { type: "fault"; peer: NodeId | null; fault: Fault } {
  if (reason.code !== "malformedFrame") return { type: "fault", peer, fault: reason };
  return { type: "fault", peer: null, fault: fault(reason.code, `On the link of ${peer}: ${reason.detail}`) };
}

export class Hub<In, Out> implements HubTransport<Out> {
  readonly #options: HubOptions<In>;
  readonly #peers = new Map<NodeId, Peer<In>>();
  readonly #guests = new Set<Guest>();
  readonly #memory = new FrameMemory();
  readonly #stopBeating: Cancel;
  #connections = 0; // ever accepted
  #paused = false;

  constructor(options: HubOptions<In>) {
    this.#options = options;
    this.#stopBeating = every(options.timers, options.limits.heartbeatMs, () => this.#beat());
  }

  /** A new connection; the caller reports what comes in on it. */
  accept(wire: Wire): WireHandler {
    if (this.#guests.size >= this.#options.limits.pendingHellos) {
      wire.close("too many connections wait for their hello");
      return { frame: () => {}, closed: () => {} };
    }
    const guest = this.#greet(wire);
    let peer: Peer<In> | null = null;
    return {
      frame: (bytes) => {
        if (peer !== null) {
          if (peer.wire === wire) peer.channel.frame(bytes);
        } else if (this.#guests.has(guest)) peer = this.#takeHello(guest, bytes);
      },
      closed: (reason) => {
        this.#dismiss(guest);
        if (peer !== null && peer.wire === wire) this.#disconnected(peer, reason);
      },
    };
  }

  send(node: NodeId, message: Out, segments: readonly Segment[] = []): Parsed<number> {
    const peer = this.#peers.get(node);
    if (peer === undefined) return refused("notAdmitted", `Cannot send a message as ${node} has no session here`);
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

  /** Closes every link without ending sessions for the nodes: they try again, as after a crash. */
  shutDown(reason: string): void {
    this.#stopBeating();
    for (const guest of [...this.#guests]) {
      this.#dismiss(guest);
      guest.wire.close(reason);
    }
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

  #greet(wire: Wire): Guest {
    const { run, signer, random, timers, limits } = this.#options;
    const challenge = createChallenge(run, signer.address, random);
    const cancel = timers.after(limits.helloMs, () => {
      const detail = `Cannot wait for a hello longer than ${limits.helloMs} ms`;
      this.#refuse(guest, fault("unauthenticated", detail), { report: false });
    });
    const guest: Guest = { wire, connection: ++this.#connections, challenge, cancel, wasAskedToSign: false };
    this.#guests.add(guest);
    wire.send(encodeFrame({ header: challenge }));
    return guest;
  }

  #dismiss(guest: Guest): void {
    guest.cancel();
    this.#guests.delete(guest);
  }

  #refuse(guest: Guest, reason: Fault, { report }: { report: boolean }): null {
    this.#dismiss(guest);
    guest.wire.send(encodeFrame({ header: createRefusal(reason) }));
    guest.wire.close(reason.detail);
    if (report) this.#emit({ type: "fault", peer: null, fault: reason });
    return null;
  }

  #takeHello(guest: Guest, bytes: Uint8Array): Peer<In> | null {
    const { limits, verify, admit, tickets, random } = this.#options;
    const frame = decodeFrame(bytes, { ...limits, frameBytes: limits.helloBytes });
    if (!frame.ok) return this.#refuse(guest, frame.fault, { report: true });
    const { challenge } = guest;
    const verdict = checkHello(frame.value.header, { challenge, verify, admit, tickets, random });
    if (verdict.type === "refused") return this.#refuse(guest, verdict.fault, { report: true });
    if (verdict.type === "unproven") return this.#askToSign(guest);
    const { hello } = verdict.proven;
    if (guest.connection < (this.#peers.get(hello.node)?.connection ?? 0)) {
      // The node gave this connection up before it made the newer one: its hello was long on the way.
      const detail = "Cannot take a hello as its connection must be the newest of this node: a newer one is in use";
      return this.#refuse(guest, fault("staleResult", detail), { report: true });
    }
    const resumable = this.#findResumable(hello);
    if (resumable === null && !this.#hasRoomFor(hello.node)) {
      const detail = `Cannot take another node as 'peers' must be at most ${limits.peers}; try again later`;
      return this.#refuse(guest, fault("limitExceeded", detail), { report: true });
    }
    this.#dismiss(guest);
    return this.#connect(verdict.proven, { guest, resumable });
  }

  /** The same challenge once more. Only once: each costs as little as a ticket, but a connection is not there to guess on. */
  #askToSign(guest: Guest): null {
    if (guest.wasAskedToSign) {
      const detail = "Cannot take a hello as it must be signed after a ticket that is of no use: it has another ticket";
      return this.#refuse(guest, fault("staleResult", detail), { report: true });
    }
    guest.wasAskedToSign = true;
    guest.wire.send(encodeFrame({ header: guest.challenge }));
    return null;
  }

  #findResumable(hello: Hello): Peer<In> | null {
    const peer = this.#peers.get(hello.node);
    if (peer === undefined || hello.resume === null) return null;
    const fits = peer.session === hello.resume.session && peer.role === hello.role;
    return fits && peer.channel.canResume(hello.resume.received) ? peer : null;
  }

  /** A full table makes room by giving up a session without a link, the one whose last link is the oldest. */
  #hasRoomFor(node: NodeId): boolean {
    if (this.#peers.has(node) || this.#peers.size < this.#options.limits.peers) return true;
    let oldest: Peer<In> | null = null;
    for (const peer of this.#peers.values()) {
      if (peer.wire === null && peer.connection < (oldest?.connection ?? Infinity)) oldest = peer;
    }
    if (oldest === null) return false;
    this.#lose(oldest, fault("limitExceeded", "Cannot keep a session without a link as 'peers' is full"));
    return true;
  }

  #connect(proven: ProvenHello, from: { guest: Guest; resumable: Peer<In> | null }): Peer<In> {
    const { hello } = proven;
    const { guest: { wire, connection }, resumable } = from;
    if (resumable === null) this.#displace(hello.node);
    else if (resumable.wire !== null) this.#dropWire(resumable, "replaced by a newer connection of this node");
    const peer = resumable ?? this.#createPeer(hello);
    const resumed = resumable !== null;
    const { signer, tickets, limits: { frameBytes, headerBytes } } = this.#options;
    const limits = { frameBytes, headerBytes };
    const terms = { session: peer.session, resumed, received: peer.channel.received, limits };
    wire.send(encodeFrame({ header: createAccept(proven, { terms, signer, tickets }) }));
    peer.cancelExpiry();
    peer.wire = wire;
    peer.connection = connection;
    const macs = linkMacs({ secret: proven.secret, claim: hello, side: "hub" });
    peer.channel.attach(wire, { macs, peerReceived: resumed ? hello.resume?.received ?? 0 : 0 });
    this.#emit({ type: "peerConnected", peer: peer.node, role: peer.role, resumed });
    return peer;
  }

  #createPeer(hello: Hello): Peer<In> {
    const { limits, read, random } = this.#options;
    const { node, role } = hello;
    const channel: Channel<In> = new Channel<In>({
      limits,
      memory: this.#memory,
      read,
      onMessage: (received) => this.#emit({ type: "message", peer: node, role, ...received }),
      onRefusedMessage: (reason) => this.#emit({ type: "fault", peer: node, fault: reason }),
      onControl: () => channel.distrust(fault("malformedFrame", "Cannot take an unnumbered header after the hello")),
      onDamaged: (reason) => {
        this.#emit(linkFault(node, reason));
        if (peer.wire !== null) this.#dropWire(peer, reason.detail);
      },
      onBroken: (reason) => {
        this.#emit(linkFault(node, reason));
        this.#lose(peer, reason);
      },
    });
    const session = hex(random.bytes(32));
    const peer: Peer<In> = {
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

  /** A hello without our session: the process behind this hotkey is another one now. */
  #displace(node: NodeId): void {
    const peer = this.#peers.get(node);
    if (peer === undefined) return;
    const detail =
      "Cannot keep two links for one hotkey: a newer process uses it; stop one of them or give it its own hotkey";
    this.#lose(peer, fault("notAdmitted", detail));
  }

  #disconnected(peer: Peer<In>, reason: string): void {
    const { timers, limits } = this.#options;
    peer.wire = null;
    peer.channel.detach();
    peer.cancelExpiry = timers.after(limits.sessionKeepMs, () => {
      const detail = `Cannot keep a session longer than ${limits.sessionKeepMs} ms without a link`;
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
    if (this.#peers.get(peer.node) !== peer) return; // ended by a callback meanwhile
    this.#end(peer, reason);
    this.#emit({ type: "peerLost", peer: peer.node, fault: reason });
  }

  #beat(): void {
    const { limits } = this.#options;
    for (const peer of [...this.#peers.values()]) {
      if (peer.wire === null || peer.channel.beat()) continue;
      this.#dropWire(peer, `no heartbeat for ${limits.heartbeatMs * limits.silentHeartbeats} ms`);
    }
  }
}
