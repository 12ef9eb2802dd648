/** What strangers may cost an orchestrator, in manual time and without sockets. */

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { parsed } from "../../../core/fault.ts";
import { type LinkMacs, linkMacs } from "../../../net/auth/frame_mac.ts";
import { decodeFrame, encodeFrame } from "../../../net/messages/frame.ts";
import { answerChallenge, type Signer } from "../../../net/auth/hello.ts";
import { Hub } from "../../../net/links/hub.ts";
import { defaultNetLimits, type NetLimits } from "../../../net/limits.ts";
import { readNodeMessage } from "../../../net/messages/schema_node.ts";
import type { HeldTicket } from "../../../net/auth/ticket.ts";
import { checkAccept } from "../../../net/auth/hello.ts";
import type { HubEvent } from "../../../net/links/transport.ts";
import type { WireHandler } from "../../../net/links/wire.ts";
import { countingRandom, ManualTimers } from "../../support/net/manual_timers.ts";
import { testSigner } from "../../support/net/test_keys.ts";
import { testTickets } from "../../support/net/test_tickets.ts";

const hubSigner = testSigner(200);
const signed = new Uint8Array(64).fill(1);

interface Caller {
  readonly sent: Uint8Array[];
  readonly handler: WireHandler;
  isClosed: boolean;
  isTrusted: boolean;
}

class StrangerWorld {
  readonly timers = new ManualTimers();
  readonly events: HubEvent<unknown>[] = [];
  readonly hub: Hub<unknown, unknown>;
  verified = 0; // signatures checked
  readonly #random = countingRandom(9);

  constructor(limits: Partial<NetLimits> = {}) {
    this.hub = new Hub<unknown, unknown>({
      run: "test",
      signer: hubSigner,
      verify: ({ signature }) => ++this.verified > 0 && signature[0] === signed[0],
      admit: () => null,
      tickets: testTickets({ hub: hubSigner.address, timers: this.timers }),
      read: (header, segments) =>
        (header as { note?: number }).note === undefined ? readNodeMessage(header, segments) : parsed(header),
      limits: { ...defaultNetLimits, ...limits },
      timers: this.timers,
      random: this.#random,
      onEvent: (event) => this.events.push(event),
    });
  }

  call(origin: string): Caller {
    const caller: Omit<Caller, "handler"> & { handler?: WireHandler } = { sent: [], isClosed: false, isTrusted: false };
    caller.handler = this.hub.accept({
      origin,
      trust: () => caller.isTrusted = true,
      bufferedBytes: 0,
      send: (frame) => void caller.sent.push(frame),
      close: () => caller.isClosed = true,
      pause: () => {},
      resume: () => {},
    });
    return caller as Caller;
  }

  macs: LinkMacs | null = null;

  hello(caller: Caller, from: { seed?: number; signature?: Uint8Array; ticket?: HeldTicket } = {}): HeldTicket | null {
    const { seed = 1, signature = signed, ticket = null } = from;
    const signer: Signer = { address: testSigner(seed).address, sign: () => signature };
    const identity = { signer, role: "miner" as const, run: null, hub: null };
    const greeting = answerChallenge(headerOf(caller.sent[0]!), {
      identity,
      resume: null,
      ticket,
      random: this.#random,
      nowMs: 0,
      process: "00".repeat(32),
    });
    assert(greeting.ok);
    caller.handler.frame(encodeFrame({ header: greeting.value.hello }));
    const answer = checkAccept(headerOf(caller.sent.at(-1)!), { greeting: greeting.value, verify: () => true });
    if (!answer.ok) return null;
    const { ticket: held } = answer.value;
    this.macs = linkMacs({ secret: held.secret, claim: greeting.value.hello, side: "node" });
    return held;
  }

  /** As the node of the last hello sends it. */
  sealed(header: unknown): Uint8Array {
    const frame = encodeFrame({ header, sequence: 1 });
    this.macs?.outgoing.seal(frame);
    return frame;
  }

  codeOf(caller: Caller): string | undefined {
    return (headerOf(caller.sent.at(-1)!) as { fault?: { code: string } }).fault?.code;
  }
}

function headerOf(bytes: Uint8Array): unknown {
  const frame = decodeFrame(bytes, defaultNetLimits);
  assert(frame.ok);
  return frame.value.header;
}

Deno.test("Strangers: ten thousand bad hellos are one event a minute, and a number by code", () => {
  const world = new StrangerWorld();
  for (let count = 0; count < 10_000; count++) {
    const caller = world.call("203.0.113.7");
    if (count % 2 === 0) caller.handler.frame(new Uint8Array(40));
    else caller.handler.frame(encodeFrame({ header: { type: "hello" } }));
    assert(caller.isClosed && !caller.isTrusted);
  }
  assertEquals(world.events.length, 1);
  world.timers.advance(defaultNetLimits.refusalReportMs);
  assertEquals(world.events.length, 2);
  const [, report] = world.events;
  assert(report?.type === "refusals");
  assertEquals(report.counts, { total: 10_000, byCode: { malformedFrame: 5000, malformedMessage: 5000 } });
  assertMatch(
    report.text,
    /^Refused connections: 5000 with an unreadable hello, 4999 with unreadable bytes \(10000 in all\); a refused node/,
  );
  assertEquals(world.hub.refusals, report.counts);
  world.timers.advance(10 * defaultNetLimits.refusalReportMs);
  assertEquals(world.events.length, 2, "nothing more was refused");
  world.call("203.0.113.7").handler.frame(new Uint8Array(40));
  assertEquals(world.events.length, 3, "the first one after a quiet time is told at once");
  world.hub.shutDown("test over");
});

Deno.test("Strangers: wrong signatures of one origin use up its checks, not those of others nor of tickets", () => {
  const world = new StrangerWorld({ failedSignaturesPerSecond: 10 });
  const ticket = world.hello(world.call("203.0.113.7"));
  assert(ticket !== null);
  for (let count = 0; count < 1000; count++) {
    world.hello(world.call("203.0.113.7"), { seed: 2, signature: new Uint8Array(64) });
  }
  assertEquals(world.verified, 1 + 10);
  const late = world.call("203.0.113.7");
  world.hello(late, { seed: 3 });
  assertEquals(world.codeOf(late), "limitExceeded", "try again later, which is not final");
  const returning = world.call("203.0.113.7");
  assert(world.hello(returning, { ticket }) !== null && returning.isTrusted);
  assert(world.hello(world.call("198.51.100.1"), { seed: 4 }) !== null);
  world.timers.advance(100);
  assert(world.hello(world.call("203.0.113.7"), { seed: 3 }) !== null, "one check more after a tenth of a second");
  world.hub.shutDown("test over");
});

Deno.test("Strangers: five hundred nodes behind one address sign as fast as they come", () => {
  const world = new StrangerWorld({ failedSignaturesPerSecond: 10 });
  for (let count = 0; count < 500; count++) {
    assert(world.hello(world.call("203.0.113.7"), { seed: 1 + count % 100 }) !== null);
  }
  world.hub.shutDown("test over");
});

Deno.test("Strangers: a full table makes room for another origin at once, for its own after 'crowdedMs'", () => {
  const world = new StrangerWorld({ pendingHellos: 100 });
  const idle = Array.from({ length: 100 }, () => world.call("203.0.113.7"));
  const other = world.call("198.51.100.1");
  assert(idle[0]!.isClosed && world.hello(other) !== null);
  const refilled = world.call("203.0.113.7");
  const own = world.call("203.0.113.7");
  assert(own.isClosed && !refilled.isClosed);
  assertEquals(world.codeOf(own), "limitExceeded");
  world.timers.advance(defaultNetLimits.crowdedMs);
  const later = world.call("203.0.113.7");
  assert(idle[1]!.isClosed && world.hello(later, { seed: 2 }) !== null);
  world.hub.shutDown("test over");
});

Deno.test("Strangers: a proven node's header is bounded by what node messages need, in bytes and in values", () => {
  const world = new StrangerWorld();
  const text = "x".repeat(defaultNetLimits.nodeHeaderBytes);
  const map = Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [index.toString(36), 0]));
  for (
    const [header, says] of [[{ note: 1, text }, "'headerBytes' must be at most 262144"], [{ note: 1, map }, "values"]]
  ) {
    const caller = world.call("203.0.113.7");
    assert(world.hello(caller) !== null);
    caller.handler.frame(world.sealed(header));
    const seen = world.events.findLast((event) => event.type === "fault" || event.type === "linkDamaged");
    assert(seen !== undefined && "fault" in seen);
    assertStringIncludes(seen.fault.detail, String(says));
  }
  world.hub.shutDown("test over");
});
