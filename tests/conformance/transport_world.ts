/** An orchestrator and its nodes over one implementation, with manual time and breakable links. */

import { parsed, refused } from "../../core/fault.ts";
import type { Role } from "../../core/protocol/message.ts";
import { hex, type Signer } from "../../net/auth/hello.ts";
import { Hub } from "../../net/links/hub.ts";
import { checkNetLimits, defaultNetLimits, type NetLimits } from "../../net/limits.ts";
import { Node } from "../../net/links/node.ts";
import type { HubEvent, HubOptions, NodeEvent, NodeOptions } from "../../net/links/transport.ts";
import type { Read } from "../../net/messages/schema_message.ts";
import type { Dial, Wire, WireHandler } from "../../net/links/wire.ts";
import { EventLog } from "../support/event_log.ts";
import { LinkControl } from "../support/net/link_control.ts";
import { countingRandom, ManualTimers } from "../support/net/manual_timers.ts";
import { testSigner, testVerify } from "../support/net/test_keys.ts";
import { testTickets } from "../support/net/test_tickets.ts";

export interface Note {
  readonly note: number;
}

export const readNote: Read<Note> = (header) => {
  const note = (header as { note?: unknown } | null)?.note;
  return typeof note === "number"
    ? parsed({ note })
    : refused("malformedMessage", "Cannot read a note as it has no number");
};

/** How a transport reaches an orchestrator: the one thing that differs between implementations. */
export interface Medium {
  readonly url: string;
  readonly dial: Dial;
  stop(): Promise<void>;
}

export interface OpenMedium {
  (from: { accept: (wire: Wire) => WireHandler; limits: NetLimits }): Promise<Medium>;
}

export interface Member {
  readonly node: Node<Note, Note>;
  readonly events: EventLog<NodeEvent<Note>>;
  readonly link: LinkControl;
  readonly signer: Signer;
}

export interface WorldOptions {
  readonly limits?: Partial<NetLimits>;
  readonly hub?: Partial<HubOptions<Note>>;
}

export const hubSeed = 200;

export class TransportWorld {
  readonly timers = new ManualTimers();
  readonly hubEvents = new EventLog<HubEvent<Note>>();
  readonly limits: NetLimits;
  readonly #open: OpenMedium;
  readonly #options: WorldOptions;
  readonly #members: Member[] = [];
  hub!: Hub<Note, Note>;
  medium!: Medium;
  #randomSeed = 1;

  constructor(open: OpenMedium, options: WorldOptions) {
    this.#open = open;
    this.#options = options;
    this.limits = checkNetLimits({ ...defaultNetLimits, ...options.limits });
  }

  async start(): Promise<void> {
    this.#startHub();
    // Through a closure, so that a restarted orchestrator takes over the same address.
    this.medium = await this.#open({ accept: (wire) => this.hub.accept(wire), limits: this.limits });
  }

  /** As after a crash of the orchestrator: links break, every session is forgotten. */
  restartHub(changed: Partial<HubOptions<Note>> = {}): void {
    this.hub.shutDown("restarted");
    this.#startHub(changed);
  }

  join(seed: number, options: { role?: Role; node?: Partial<NodeOptions<Note>> } = {}): Member {
    const events = new EventLog<NodeEvent<Note>>();
    const link = new LinkControl(this.medium.dial);
    const signer = testSigner(seed);
    const node = new Node<Note, Note>({
      url: this.medium.url,
      identity: { signer, role: options.role ?? "miner", run: "test", hub: null },
      verify: testVerify,
      read: readNote,
      limits: this.limits,
      timers: this.timers,
      random: countingRandom(++this.#randomSeed),
      onEvent: events.push,
      ...options.node,
    }, link.dial);
    node.connect();
    const member = { node, events, link, signer };
    this.#members.push(member);
    return member;
  }

  /** A member that has been accepted, on both sides. */
  async joined(seed: number, options: { role?: Role } = {}): Promise<Member> {
    const member = this.join(seed, options);
    await member.events.next("connected");
    await this.hubEvents.next("peerConnected");
    return member;
  }

  /** Waits for the break, then lets the back-off run out. */
  async reconnect(member: Member): Promise<void> {
    await this.hubEvents.next("peerDisconnected");
    const { retryMs } = await member.events.next("disconnected");
    this.timers.advance(retryMs);
  }

  async stop(): Promise<void> {
    for (const { node } of this.#members) node.close("test over");
    this.hub.shutDown("test over");
    await this.medium.stop();
  }

  #startHub(changed: Partial<HubOptions<Note>> = {}): void {
    this.hub = new Hub<Note, Note>({
      run: "test",
      signer: testSigner(hubSeed),
      verify: testVerify,
      admit: () => null,
      tickets: testTickets({ hub: testSigner(hubSeed).address, timers: this.timers }),
      read: readNote,
      limits: this.limits,
      timers: this.timers,
      random: countingRandom(++this.#randomSeed * 1000),
      onEvent: this.hubEvents.push,
      ...this.#options.hub,
      ...changed,
    });
  }
}

/** What a stranger without a node's manners sees of a link. */
export interface RawLink {
  readonly wire: Wire;
  readonly events: EventLog<
    { type: "opened" } | { type: "frame"; bytes: Uint8Array } | { type: "closed"; reason: string }
  >;
}

export function dialRaw(medium: Medium): RawLink {
  const events: RawLink["events"] = new EventLog();
  const wire = medium.dial(medium.url, {
    opened: () => events.push({ type: "opened" }),
    frame: (bytes) => events.push({ type: "frame", bytes }),
    closed: (reason) => events.push({ type: "closed", reason }),
  });
  return { wire, events };
}

/** `count` notes, numbered from `first`. */
export const notes = (first: number, count: number): number[] =>
  Array.from({ length: count }, (_, index) => first + index);

export const digest = async (bytes: Uint8Array): Promise<string> =>
  hex(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes as Uint8Array<ArrayBuffer>)));
