/**
 * The production orchestrator and nodes over a `LossyNetwork`, in virtual time, with books on everything they deliver.
 *
 * Owns: starting and restarting both sides, each with a clock of its own that can be set, traffic, and the checks that
 * hold at every moment. Out of scope: when to do harm (decided by the simulations). Keys are the one thing that is
 * faked: a signature is a hash of address and message, as the real one costs milliseconds and is tested elsewhere.
 */

import { createHash } from "node:crypto";
import { assert } from "@std/assert";
import { encodeAddress } from "../../../chain/wallet/ss58.ts";
import { parsed } from "../../../core/fault.ts";
import type { NodeId } from "../../../core/ids.ts";
import type { Signer, Verify } from "../../../net/auth/hello.ts";
import { Hub } from "../../../net/links/hub.ts";
import type { NetLimits } from "../../../net/limits.ts";
import { Node } from "../../../net/links/node.ts";
import type { Timers } from "../../../net/timers.ts";
import type { HubEvent, NodeEvent } from "../../../net/links/transport.ts";
import type { Read } from "../../../net/messages/schema_message.ts";
import { contentOf, DeliveryBook, type Label } from "./delivery_book.ts";
import { LossyNetwork, type NetworkOptions } from "./lossy_wire.ts";
import { countingRandom, ManualTimers } from "./manual_timers.ts";
import { testTickets } from "./test_tickets.ts";

export interface Member {
  readonly index: number;
  readonly signer: Signer;
  readonly clock: SettableClock;
  readonly up: DeliveryBook;
  readonly down: DeliveryBook;
  node: Node<Label, Label>;
  isConnected: boolean;
  connectedAtMs: number; // meaningful while connected
}

export interface LinkWorldOptions {
  readonly timers: ManualTimers;
  readonly limits: NetLimits;
  readonly network: Omit<NetworkOptions, "accept" | "timers">;
  readonly nodes: number;
  readonly seed: number;
}

export class LinkWorld {
  readonly timers: ManualTimers;
  readonly limits: NetLimits;
  readonly network: LossyNetwork;
  readonly members: Member[] = [];
  readonly hubClock: SettableClock;
  readonly retriesMs: number[] = [];
  hub: Hub<Label, Label> | null = null;
  lostSessions = 0;
  ticketKeySeed = 1; // of the orchestrator's next life
  resumptions = 0;
  messages = 0;
  #byAddress = new Map<NodeId, Member>();
  #randomSeed: number;

  constructor({ timers, limits, network, nodes, seed }: LinkWorldOptions) {
    this.timers = timers;
    this.limits = limits;
    this.#randomSeed = seed * 65_536;
    this.network = new LossyNetwork({ ...network, timers, accept: (wire) => this.hub?.accept(wire) ?? null });
    this.hubClock = new SettableClock(timers);
    this.startHub();
    for (let index = 0; index < nodes; index++) this.#addMember(index);
  }

  startHub(): void {
    const random = countingRandom(++this.#randomSeed);
    const keySeed = this.ticketKeySeed;
    const hub: Hub<Label, Label> = new Hub<Label, Label>({
      run: "sim",
      signer: hubSigner,
      verify: fakeVerify,
      admit: () => null,
      tickets: testTickets({ hub: hubSigner.address, run: "sim", timers: this.hubClock, random, keySeed }),
      read: readLabel,
      limits: this.limits,
      timers: this.hubClock,
      random,
      onEvent: (event) => this.hub === hub && this.#onHubEvent(event),
    });
    this.hub = hub;
  }

  /** `crashed`: without a goodbye. Sessions are gone either way. */
  stopHub(how: "crashed" | "shut down"): void {
    const hub = this.hub;
    this.hub = null; // before it shuts down: the application of a stopped orchestrator gets no events
    if (how === "crashed") this.network.crash([...this.network.links].map((link) => link.hubEnd));
    hub?.shutDown("restarted");
    for (const member of this.members) {
      member.up.receiverLostSession();
      member.down.senderLostSession();
    }
  }

  /** Another process takes this node's place, with the same key. */
  restartNode(member: Member, how: "crashed" | "shut down"): void {
    if (how === "crashed") this.network.crash(this.network.linksOf(member.index).map((link) => link.nodeEnd));
    member.node.close("restarted");
    member.isConnected = false;
    member.up.senderLostSession();
    member.down.receiverLostSession();
    member.node = this.#startNode(member);
    member.node.connect();
  }

  sendUp(member: Member): void {
    const label = member.up.next;
    if (member.node.send(label, contentOf(label)).ok) member.up.accepted();
    assert(member.node.outboxBytes() <= this.limits.outboxBytes, "A node's outbox must stay within outboxBytes");
  }

  sendDown(member: Member): void {
    if (this.hub === null) return;
    const label = member.down.next;
    if (this.hub.send(member.signer.address, label, contentOf(label)).ok) member.down.accepted();
    const outboxBytes = this.hub.outboxBytes(member.signer.address);
    assert(outboxBytes <= this.limits.outboxBytes, "The orchestrator's outbox must stay within outboxBytes");
  }

  outboxBytesOf({ node, signer }: Member): number {
    return node.outboxBytes() + (this.hub?.outboxBytes(signer.address) ?? 0);
  }

  #addMember(index: number): void {
    const name = `node ${index}`;
    const member: Omit<Member, "node"> = {
      index,
      signer: fakeSigner(index + 1),
      clock: new SettableClock(this.timers),
      up: new DeliveryBook(`${name} to orchestrator`),
      down: new DeliveryBook(`orchestrator to ${name}`),
      isConnected: false,
      connectedAtMs: 0,
    };
    const whole: Member = Object.assign(member, { node: this.#startNode(member as Member) });
    this.members.push(whole);
    this.#byAddress.set(whole.signer.address, whole);
  }

  #startNode(member: Member): Node<Label, Label> {
    const node: Node<Label, Label> = new Node<Label, Label>({
      url: "sim",
      identity: { signer: member.signer, role: "miner", run: "sim", hub: hubSigner.address },
      verify: fakeVerify,
      read: readLabel,
      limits: this.limits,
      timers: member.clock,
      random: countingRandom(++this.#randomSeed),
      onEvent: (event) => member.node === node && this.#onNodeEvent(member, event),
    }, this.network.dialFor(member.index));
    return node;
  }

  #onNodeEvent(member: Member, event: NodeEvent<Label>): void {
    switch (event.type) {
      case "connected":
        member.isConnected = true;
        member.connectedAtMs = this.timers.nowMs();
        if (event.resumed) this.resumptions++;
        else member.down.receiverLostSession();
        return;
      case "disconnected":
        member.isConnected = false;
        this.retriesMs.push(event.retryMs);
        return;
      case "sessionLost":
        this.lostSessions++;
        member.up.senderLostSession();
        return member.down.receiverLostSession();
      case "message":
        this.messages++;
        return member.down.arrived(event.message, event.segments);
      case "fault":
        throw new Error(`No message of the orchestrator may be refused: ${event.fault.detail}`);
      case "refused":
        throw new Error(`No node may be refused for good: ${event.fault.detail}`);
    }
  }

  #onHubEvent(event: HubEvent<Label>): void {
    if (event.type === "refusals") return;
    const member = this.#byAddress.get(event.peer)!;
    switch (event.type) {
      case "peerConnected":
        if (!event.resumed) this.#endHubSession(member);
        return;
      case "peerLost":
        return this.#endHubSession(member);
      case "message":
        this.messages++;
        return member.up.arrived(event.message, event.segments);
      case "peerDisconnected":
        return;
      case "linkDamaged":
        return;
      case "fault":
        assert(event.fault.code !== "malformedMessage", event.fault.detail);
    }
  }

  #endHubSession(member: Member): void {
    member.up.receiverLostSession();
    member.down.senderLostSession();
  }
}

/** The wall clock of one side: it can be set, waits are not touched by that. */
export class SettableClock implements Timers {
  readonly #timers: Timers;
  offsetMs = 0;

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  nowMs(): number {
    return this.#timers.nowMs() + this.offsetMs;
  }

  steadyMs(): number {
    return this.#timers.steadyMs();
  }

  after(delayMs: number, callback: () => void) {
    return this.#timers.after(delayMs, callback);
  }
}

const readLabel: Read<Label> = (header) => parsed(header as Label);

function fakeSigner(index: number): Signer {
  const publicKey = new Uint8Array(32);
  new DataView(publicKey.buffer).setUint32(0, index);
  const address = encodeAddress(publicKey);
  return { address, sign: (message) => fakeSignature(address, message) };
}

function fakeSignature(address: NodeId, message: Uint8Array): Uint8Array {
  return new Uint8Array(createHash("sha512").update(address).update(message).digest());
}

const fakeVerify: Verify = ({ address, message, signature }) =>
  fakeSignature(address, message).every((byte, index) => byte === signature[index]);

const hubSigner = fakeSigner(0);
