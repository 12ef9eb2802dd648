/** Which nodes are admitted, and the reasons that the others get. */

import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { fault } from "../../core/fault.ts";
import { decodeFrame, encodeFrame } from "../../net/messages/frame.ts";
import { answerChallenge, readRefusal } from "../../net/auth/hello.ts";
import type { Hello } from "../../net/auth/hello_records.ts";
import { countingRandom } from "../support/net/manual_timers.ts";
import { testSigner } from "../support/net/test_keys.ts";
import { type Check, must } from "./transport_check.ts";
import { dialRaw, hubSeed, type Member, type RawLink } from "./transport_world.ts";

async function refusalOf({ events }: Member): Promise<{ code: string; detail: string }> {
  return (await events.next("refused")).fault;
}

export function helloCases(check: Check): void {
  check("a signature by another key is refused on both sides", async (world) => {
    const stranger = testSigner(9);
    const signer = { address: testSigner(1).address, sign: stranger.sign };
    const member = world.join(1, { node: { identity: { signer, role: "miner", run: "test", hub: null } } });
    assertEquals((await refusalOf(member)).code, "unauthenticated");
    const { counts } = await world.hubEvents.next("refusals");
    assertEquals(counts, { total: 1, byCode: { unauthenticated: 1 } });
    assertEquals(world.hubEvents.count("peerConnected"), 0);
  });

  check("an orchestrator that cannot prove its address is refused by the node", async (world) => {
    assertMatch((await refusalOf(world.join(1))).detail, /did not prove that it is/);
  }, { hub: { signer: { address: testSigner(hubSeed).address, sign: testSigner(9).sign } } });

  check("another orchestrator than the expected one is refused", async (world) => {
    const identity = { signer: testSigner(1), role: "miner" as const, run: "test", hub: testSigner(8).address };
    assertMatch(
      (await refusalOf(world.join(1, { node: { identity } }))).detail,
      /orchestrator's address is .*, not the expected/,
    );
  });

  check("a wrong run names both runs", async (world) => {
    const identity = { signer: testSigner(1), role: "miner" as const, run: "other", hub: null };
    const { detail } = await refusalOf(world.join(1, { node: { identity } }));
    assertMatch(detail, /serves run 'test', not 'other'/);
  });

  check("a node that the run does not admit gets the reason", async (world) => {
    const refusal = await refusalOf(world.join(1));
    assertEquals(refusal, { code: "notAdmitted", detail: "Cannot join as miner is not registered" });
  }, { hub: { admit: ({ role }) => fault("notAdmitted", `Cannot join as ${role} is not registered`) } });

  check("another protocol version is refused with what to update", async (world) => {
    const raw = dialRaw(world.medium);
    const hello = await answer(raw);
    raw.wire.send(encodeFrame({ header: { ...hello, protocol: hello.protocol + 1 } }));
    const refusal = readRefusal(headerOf((await raw.events.next("frame")).bytes));
    assertEquals(refusal?.code, "versionMismatch");
    assertStringIncludes(refusal?.detail ?? "", "update the orchestrator");
    await raw.events.next("closed");
  });

  check("a connection that says nothing is closed after helloMs", async (world) => {
    const raw = dialRaw(world.medium);
    await raw.events.next("frame");
    world.timers.advance(world.limits.helloMs);
    const refusal = readRefusal(headerOf((await raw.events.next("frame")).bytes));
    assertEquals(refusal?.code, "staleResult", "a node that was busy or asleep may come again");
    assertStringIncludes((await raw.events.next("closed")).reason, "hello");
  });
}

/** Hellos that are not from now. */
export function oldHelloCases(check: Check): void {
  check("a recorded hello is refused on another connection", async (world) => {
    const first = dialRaw(world.medium);
    const hello = await answer(first);
    first.wire.send(encodeFrame({ header: hello }));
    assertEquals(headerOf((await first.events.next("frame")).bytes).type, "accept");
    await world.hubEvents.next("peerConnected");

    const second = dialRaw(world.medium);
    await second.events.next("frame");
    second.wire.send(encodeFrame({ header: hello }));
    const refusal = readRefusal(headerOf((await second.events.next("frame")).bytes));
    assertEquals(refusal?.code, "unauthenticated");
    assertStringIncludes(refusal?.detail ?? "", "another connection's challenge");
    await second.events.next("closed");
    first.wire.close("test over");
  });

  check("a hello that comes late does not displace the node's newer link", async (world) => {
    const late = dialRaw(world.medium);
    const lateHello = await answer(late);
    const newer = dialRaw(world.medium);
    newer.wire.send(encodeFrame({ header: await answer(newer) }));
    assertEquals(headerOf((await newer.events.next("frame")).bytes).type, "accept");
    await world.hubEvents.next("peerConnected");

    late.wire.send(encodeFrame({ header: lateHello }));
    const refusal = readRefusal(headerOf((await late.events.next("frame")).bytes));
    assertEquals(refusal?.code, "staleResult");
    await late.events.next("closed");
    must(world.hub.send(testSigner(1).address, { note: 1 }));
    await newer.events.next("frame");
    assertEquals(world.hubEvents.count("peerLost"), 0);
    newer.wire.close("test over");
  });
}

async function answer(raw: RawLink): Promise<Hello> {
  const challenge = headerOf((await raw.events.next("frame")).bytes);
  const identity = { signer: testSigner(1), role: "miner" as const, run: "test", hub: null };
  return must(answerChallenge(challenge, { identity, resume: null, ticket: null, random: countingRandom(), nowMs: 0 }))
    .hello;
}

function headerOf(bytes: Uint8Array): { type: string } {
  const limits = { frameBytes: 4096, headerBytes: 4096, headerDepth: 8, segments: 0 };
  return must(decodeFrame(bytes, limits)).header as { type: string };
}
