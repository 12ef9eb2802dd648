/** An orchestrator without sockets, guests and a member of it, fed with fuzzed frames; every one must be answered. */

import { assert } from "@std/assert";
import { nodeId } from "../../../core/ids.ts";
import type { NodeMessage } from "../../../core/protocol/message.ts";
import { decodeFrame, encodeFrame, headOf, writeChecksums } from "../../../net/messages/frame.ts";
import { type LinkMacs, linkMacs } from "../../../net/auth/frame_mac.ts";
import { answerChallenge, checkAccept, type Greeting, type Signer } from "../../../net/auth/hello.ts";
import { Hub } from "../../../net/links/hub.ts";
import { defaultNetLimits as limits } from "../../../net/limits.ts";
import { readNodeMessage } from "../../../net/messages/schema_node.ts";
import type { HubEvent } from "../../../net/links/transport.ts";
import type { Wire, WireHandler } from "../../../net/links/wire.ts";
import { countingRandom, ManualTimers } from "../net/manual_timers.ts";
import { nodeSamples } from "../net/message_vectors.ts";
import { mutate } from "./mutated_bytes.ts";
import { testTickets } from "../net/test_tickets.ts";

export type Below = (below: number) => number;

const hubAddress = nodeId("5FHneW46xGXgs5mUiveU4sbTyGBzmstUspZC92UhjJM694ty");
const signer: Signer = {
  address: nodeId("5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY"),
  sign: () => new Uint8Array(64).fill(7), // this world's signature; real ones are slow
};

/** What the orchestrator of a wire sent, and whether it closed the link. */
class Ear {
  readonly frames: Uint8Array[] = [];
  isClosed = false;
  readonly wire: Wire = {
    bufferedBytes: 0,
    send: (frame) => void this.frames.push(frame),
    close: () => this.isClosed = true,
    pause: () => {},
    resume: () => {},
  };
}

export class FuzzedHub {
  readonly timers = new ManualTimers();
  readonly outcomes = new Map<string, number>();
  readonly #beganMs = this.timers.steadyMs();
  readonly #hub: Hub<NodeMessage, unknown>;
  readonly #random = countingRandom(5);
  readonly #messages = Object.values(nodeSamples);
  #events = 0;
  #member: FuzzedMember | null = null;

  constructor() {
    this.#hub = new Hub<NodeMessage, unknown>({
      run: "fuzz",
      signer: { address: hubAddress, sign: signer.sign },
      verify: ({ signature }) => signature.every((byte) => byte === 7),
      admit: () => null,
      tickets: testTickets({ hub: hubAddress, run: "fuzz", timers: this.timers }),
      read: readNodeMessage,
      limits,
      timers: this.timers,
      random: this.#random,
      onEvent: (event) => this.#onEvent(event),
    });
  }

  /** A connection whose hello is damaged or made up: it gets an answer, and is over if that answer is a refusal. */
  tryHello(below: Below): void {
    const ear = new Ear();
    const handler = this.#hub.accept(ear.wire);
    const hello = encodeFrame({ header: this.#greeting(ear).hello });
    const bytes = mutate(hello, hello, below);
    if (bytes.length >= 28 && below(4) > 0) writeChecksums(bytes);
    handler.frame(bytes);
    assert(ear.frames.length === 2, "A hello must be answered");
    const header = headerOf(ear.frames[1]!);
    this.#count(`hello: ${header.fault?.code ?? header.type}`);
    assert(ear.isClosed === (header.type === "refusal"), "A refusal must be the end, and nothing else");
    handler.closed("fuzz");
    if (below(1000) === 0) this.timers.advance(limits.helloMs); // manual timers forget cancelled ones when their time comes
  }

  /** A frame of a proven member: it is a message, a fault, or the end of the link. */
  tryMessage(below: Below): void {
    this.#member ??= this.#join();
    const { ear, handler, macs } = this.#member;
    const header = this.#messages[below(this.#messages.length)];
    const sequence = this.#member.sequence + 1;
    const good = encodeFrame({ header, segments: below(3) === 0 ? [new Uint8Array(below(64))] : [], sequence });
    const isGood = below(8) === 0;
    const bytes = isGood ? good : mutate(good, good, below);
    if (!isGood && bytes.length >= 28 && below(8) > 0) writeChecksums(bytes);
    if (headOf(bytes) !== null && (isGood || below(8) > 0)) macs.outgoing.seal(bytes);
    const before = this.#events;
    handler.frame(bytes);
    if (this.#events === before) this.#count("member: repeated or acknowledged");
    else if (!ear.isClosed) this.#member.sequence = sequence; // a message that the schema refused is numbered, too
    if (isGood) assert(this.#events > before, "A good message must arrive");
    if (!ear.isClosed) return;
    handler.closed("fuzz");
    this.#member = null;
    if (below(10) === 0) this.timers.advance(limits.helloMs);
  }

  /** The most reports of refused strangers that may have arrived. */
  get reportsDue(): number {
    return 1 + Math.ceil((this.timers.steadyMs() - this.#beganMs) / limits.refusalReportMs);
  }

  stop(): void {
    this.#hub.shutDown("fuzz");
  }

  #join(): FuzzedMember {
    const ear = new Ear();
    const handler = this.#hub.accept(ear.wire);
    const greeting = this.#greeting(ear);
    handler.frame(encodeFrame({ header: greeting.hello }));
    const accepted = checkAccept(headerOf(ear.frames[1]!), { greeting, verify: () => true });
    assert(accepted.ok, "An honest hello must be accepted");
    const macs = linkMacs({ secret: accepted.value.ticket.secret, claim: greeting.hello, side: "node" });
    return { ear, handler, macs, sequence: 0 };
  }

  #greeting(ear: Ear): Greeting {
    const identity = { signer, role: "miner" as const, run: null, hub: null };
    const challenge = headerOf(ear.frames[0]!);
    const greeting = answerChallenge(challenge, {
      identity,
      resume: null,
      ticket: null,
      random: this.#random,
      nowMs: 0,
    });
    assert(greeting.ok, "The challenge can be answered");
    return greeting.value;
  }

  #onEvent(event: HubEvent<NodeMessage>): void {
    this.#events++;
    const code = event.type === "fault" || event.type === "linkDamaged" || event.type === "peerLost"
      ? ` ${event.fault.code}`
      : "";
    this.#count(`member: ${event.type}${code}`);
  }

  #count(outcome: string): void {
    this.outcomes.set(outcome, (this.outcomes.get(outcome) ?? 0) + 1);
  }
}

interface FuzzedMember {
  readonly ear: Ear;
  readonly handler: WireHandler;
  readonly macs: LinkMacs;
  sequence: number;
}

function headerOf(bytes: Uint8Array): { type: string; fault?: { code: string } } {
  const frame = decodeFrame(bytes, limits);
  assert(frame.ok, "The orchestrator sends frames");
  return frame.value.header as { type: string };
}
