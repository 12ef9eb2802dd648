/** Meeting an orchestrator: which of them is the announced one, whatever it says of itself. */

import { assertEquals, assertMatch } from "@std/assert";
import { meetHub, type Meeting } from "../../../cli/node/find/meet_hub.ts";
import { type Fault, fault } from "../../../core/fault.ts";
import { createRefusal, type Signer } from "../../../net/auth/hello.ts";
import { defaultNetLimits } from "../../../net/limits.ts";
import { Hub } from "../../../net/links/hub.ts";
import { createLoopback } from "../../../net/links/loopback.ts";
import type { HubEvent } from "../../../net/links/transport.ts";
import type { Dial } from "../../../net/links/wire.ts";
import { encodeFrame } from "../../../net/messages/frame.ts";
import { readNodeMessage } from "../../../net/messages/schema_node.ts";
import { countingRandom, ManualTimers } from "../../support/net/manual_timers.ts";
import { testSigner, testVerify } from "../../support/net/test_keys.ts";
import { testTickets } from "../../support/net/test_tickets.ts";

const [hubSigner, otherSigner, nodeSigner] = [testSigner(1), testSigner(2), testSigner(3)];
const limits = defaultNetLimits;

interface World {
  readonly dial: Dial;
  readonly events: HubEvent<unknown>[];
}

function hubWith({ signer = hubSigner, run = "wanted", refusal = null }: {
  signer?: Signer;
  run?: string;
  refusal?: Fault | null;
}): World {
  const timers = new ManualTimers(), events: HubEvent<unknown>[] = [];
  const hub = new Hub<unknown, unknown>({
    ...{ run, signer, verify: testVerify, admit: () => refusal, limits, timers, random: countingRandom(1) },
    tickets: testTickets({ hub: signer.address, run, timers }),
    read: readNodeMessage,
    onEvent: (event) => events.push(event),
  });
  return { dial: createLoopback((wire) => hub.accept(wire)), events };
}

function meet(dial: Dial, timers = new ManualTimers()): Promise<Meeting> {
  return meetHub({ socket: "ws://hub:1", hub: hubSigner.address, run: "wanted" }, {
    ...{ identity: { signer: nodeSigner, role: "miner" }, verify: testVerify, dial, limits, timers },
    random: countingRandom(2),
  });
}

/** What it comes to, with the proof where one is claimed. */
async function outcome(dial: Dial): Promise<{ type: string; why: string }> {
  const meeting = await meet(dial);
  const answer = meeting.type === "claims" ? await meeting.prove() : meeting;
  return { why: "", ...answer };
}

Deno.test("Meeting: the announced orchestrator proves itself, and no session hears of it before the hello", async () => {
  const { dial, events } = hubWith({});
  const looked = await meet(dial);
  if (looked.type === "claims") looked.close();
  assertEquals([looked.type, events.length], ["claims", 0]);
  assertEquals((await outcome(dial)).type, "proven");
});

Deno.test("Meeting: another key or run is another orchestrator, and a borrowed name proves nothing", async () => {
  const key = await outcome(hubWith({ signer: otherSigner }).dial);
  assertEquals([key.type, key.why.includes(otherSigner.address)], ["other", true]);
  const run = await outcome(hubWith({ run: "later-run" }).dial);
  assertEquals([run.type, run.why.includes("later-run")], ["other", true]);
  const { type, why } = await outcome(hubWith({ signer: { ...otherSigner, address: hubSigner.address } }).dial);
  assertEquals(type, "silent");
  assertMatch(why, /did not prove/);
});

Deno.test("Meeting: a refusal for now is told from one for good, also before the orchestrator names itself", async () => {
  const later = await outcome(hubWith({ refusal: fault("wrongPhase", "not yet; try again") }).dial);
  assertEquals(later, { type: "later", why: "not yet; try again" });
  const refused = await outcome(hubWith({ refusal: fault("notAdmitted", "never") }).dial);
  assertEquals(refused, { type: "refused", why: "never" });
  const starting = createLoopback((wire) => {
    wire.send(encodeFrame({ header: createRefusal(fault("wrongPhase", "starting; try again")) }));
    return { frame: () => {}, closed: () => {} };
  });
  assertEquals((await outcome(starting)).type, "later");
});

Deno.test("Meeting: nobody there, a stranger's bytes, and a host that says nothing are all silent, with the reason", async () => {
  const closed: Dial = (_url, handler) => {
    queueMicrotask(() => handler.closed("connection refused", "check it"));
    return { bufferedBytes: 0, send: () => {}, close: () => {}, pause: () => {}, resume: () => {} };
  };
  assertEquals(await outcome(closed), { type: "silent", why: "connection refused; check it" });
  const strange = createLoopback((wire) => {
    wire.send(new Uint8Array(40));
    return { frame: () => {}, closed: () => {} };
  });
  assertEquals((await outcome(strange)).type, "silent");
  const timers = new ManualTimers();
  const mute = meet(createLoopback(() => ({ frame: () => {}, closed: () => {} })), timers);
  timers.advance(5_000);
  assertEquals(await mute, { type: "silent", why: "no answer within 5 s" });
});
