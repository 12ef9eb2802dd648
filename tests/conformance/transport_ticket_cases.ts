/** Nodes that come back with a ticket, and orchestrators that have no use for it. */

import { assertEquals, assertStringIncludes } from "@std/assert";
import { fault } from "../../core/fault.ts";
import { decodeFrame, encodeFrame } from "../../net/messages/frame.ts";
import { answerChallenge, isChallenge, readRefusal } from "../../net/auth/hello.ts";
import { LinkSecret } from "../../net/auth/link_secret.ts";
import { countingRandom } from "../support/net/manual_timers.ts";
import { testSigner, testVerify } from "../support/net/test_keys.ts";
import { testTickets } from "../support/net/test_tickets.ts";
import { type Check, must } from "./transport_check.ts";
import { dialRaw, hubSeed, type Member, type RawLink, type TransportWorld } from "./transport_world.ts";

/** An orchestrator that counts its work with signatures. */
function counting() {
  const signer = testSigner(hubSeed);
  const counts = { signed: 0, verified: 0 };
  const hub = {
    signer: {
      address: signer.address,
      sign: (message: Uint8Array) => {
        counts.signed++;
        return signer.sign(message);
      },
    },
    verify: (claim: Parameters<typeof testVerify>[0]) => {
      counts.verified++;
      return testVerify(claim);
    },
  };
  return { counts, hub };
}

export function ticketCases(check: Check): void {
  const first = counting();
  check("a node that returns costs no signature, to this orchestrator or its next life", async (world) => {
    const member = await world.joined(1);
    member.link.cut();
    await world.reconnect(member);
    assertEquals((await member.events.next("connected")).resumed, true);
    world.restartHub();
    await comeBack(world, member);
    assertEquals(first.counts, { signed: 1, verified: 1 });
  }, { hub: first.hub });

  const second = counting();
  check(
    "an orchestrator with another key has the node sign on the same connection, and gives it a new ticket",
    async (world) => {
      const member = await world.joined(1);
      const { timers } = world;
      world.restartHub({ tickets: testTickets({ hub: testSigner(hubSeed).address, timers, keySeed: 2 }) });
      await comeBack(world, member);
      assertEquals(second.counts, { signed: 2, verified: 2 });
      member.link.cut();
      const { attempt, retryMs } = await member.events.next("disconnected");
      assertEquals(attempt, 1, "no attempt failed");
      timers.advance(retryMs);
      assertEquals((await member.events.next("connected")).resumed, true);
      assertEquals(second.counts, { signed: 2, verified: 2 });
    },
    { hub: second.hub },
  );

  check("an orchestrator with another identity gets nothing of a node, which waits for its own", async (world) => {
    const member = await world.joined(1);
    const own = testSigner(hubSeed).address;
    const signer = testSigner(hubSeed + 1);
    const random = countingRandom(77);
    world.restartHub({ signer, tickets: testTickets({ hub: signer.address, timers: world.timers, random }) });
    world.timers.advance((await member.events.next("disconnected")).retryMs);
    const { reason, retryMs } = await member.events.next("disconnected");
    assertStringIncludes(reason, `The orchestrator's address is ${signer.address}, not the expected ${own}`);
    world.restartHub();
    world.timers.advance(retryMs);
    assertEquals((await member.events.next("connected")).hub, own);
  });

  check("a ticket does not admit a node that the run does not take any more", async (world) => {
    const member = await world.joined(1);
    world.restartHub({ admit: () => fault("notAdmitted", "Cannot join as the registration has ended") });
    world.timers.advance((await member.events.next("disconnected")).retryMs);
    assertEquals((await member.events.next("refused")).fault.code, "notAdmitted");
  });

  const third = counting();
  check("before its ticket expires a node signs again, and the session continues", async (world) => {
    const member = await world.joined(1);
    for (let beat = 0; member.events.count("disconnected") === 0; beat++) {
      must(member.node.send({ note: beat }));
      await world.hubEvents.next("message");
      must(world.hub.send(member.signer.address, { note: beat }));
      await member.events.next("message");
      world.timers.advance(world.limits.heartbeatMs);
    }
    const { reason, retryMs } = await member.events.next("disconnected");
    assertStringIncludes(reason, "about to expire");
    world.timers.advance(retryMs);
    assertEquals((await member.events.next("connected")).resumed, true);
    assertEquals(third.counts, { signed: 2, verified: 2 });
  }, { hub: third.hub, limits: { ticketMs: 40_000 } });
}

/** What guesses at tickets is sent away. */
export function guessedTicketCases(check: Check): void {
  check("a ticket of no use is answered with the challenge once, then with a refusal", async (world) => {
    const raw = dialRaw(world.medium);
    const challenge = await headerOf(raw);
    const identity = { signer: testSigner(1), role: "miner" as const, run: null, hub: null };
    const hub = testSigner(hubSeed).address;
    for (let guess = 1; guess <= 2; guess++) {
      const secret = new LinkSecret(countingRandom(guess).bytes(32));
      const ticket = { run: "test", hub, secret, ticket: "5a".repeat(69) };
      const from = { identity, ticket, resume: null, random: countingRandom(guess), nowMs: 0 };
      raw.wire.send(encodeFrame({ header: must(answerChallenge(challenge, from)).hello }));
      const answer = await headerOf(raw);
      if (guess === 1) assertEquals([isChallenge(answer), answer], [true, challenge]);
      else assertEquals(readRefusal(answer)?.code, "staleResult");
    }
    await raw.events.next("closed");
    assertEquals(world.hubEvents.count("peerConnected"), 0);
  });
}

async function comeBack(world: TransportWorld, { events }: Member) {
  world.timers.advance((await events.next("disconnected")).retryMs);
  const connected = await events.next("connected");
  assertEquals(connected.resumed, false);
  return connected;
}

async function headerOf(raw: RawLink): Promise<unknown> {
  const limits = { frameBytes: 4096, headerBytes: 4096, headerDepth: 8, segments: 0 };
  return must(decodeFrame((await raw.events.next("frame")).bytes, limits)).header;
}
