/**
 * What a connecting node costs the orchestrator's thread: production code over wires in memory, hellos signed by the
 * node's own key and hellos with a ticket.
 *
 * Owns: counting only the orchestrator's own work (the challenge, the check, the answer); the node's half runs in
 * between. The operations that dominate a signed hello are also measured separately.
 */

import { randomBytes } from "node:crypto";
import { hotkeyOfMiniSecret, type HotkeyPair, verifySignature } from "../../../chain/wallet/hotkey.ts";
import { assert } from "../../../core/assert.ts";
import { parsed } from "../../../core/fault.ts";
import { decodeFrame, encodeFrame } from "../../../net/messages/frame.ts";
import { answerChallenge, checkAccept, processOf } from "../../../net/auth/hello.ts";
import { Hub } from "../../../net/links/hub.ts";
import { defaultNetLimits } from "../../../net/limits.ts";
import type { HeldTicket } from "../../../net/auth/ticket.ts";
import { systemRandom, systemTimers } from "../../../net/timers.ts";
import type { Wire } from "../../../net/links/wire.ts";
import { hubTickets } from "../../../cli/orchestrator/hub/hub_tickets.ts";

/** Milliseconds of the orchestrator's thread. */
export interface HelloCost {
  readonly signedHellos: number;
  readonly signedMs: number;
  readonly ticketHellos: number;
  readonly ticketMs: number;
  readonly signMs: number;
  readonly verifyMs: number;
}

interface Caller {
  readonly signer: HotkeyPair;
  readonly process: string; // one that comes back, not a second one with its hotkey
  ticket: HeldTicket | null;
}

const callers = 63;
const warmUps = 2; // of each caller, for the compiler
const share = 0.5; // of the time, for each way

export function measureHello(seconds: number): HelloCost {
  const own = newKey();
  const hub = openHub(own);
  const flock = Array.from({ length: callers }, (): Caller => ({
    signer: newKey(),
    process: processOf(systemRandom),
    ticket: null,
  }));
  for (let turn = 0; turn < warmUps; turn++) for (const caller of flock) sign(hub, caller);
  const signed = measureUntil(share * seconds, (turn) => sign(hub, flock[turn % callers]!));
  for (let turn = 0; turn < 4 * warmUps; turn++) for (const caller of flock) connect(hub, caller);
  const byTicket = measureUntil(share * seconds, (turn) => connect(hub, flock[turn % callers]!));
  hub.shutDown("benchmark over");
  return {
    signedHellos: signed.count,
    signedMs: signed.meanMs,
    ticketHellos: byTicket.count,
    ticketMs: byTicket.meanMs,
    ...measureSignature(own),
  };
}

function measureUntil(seconds: number, body: (turn: number) => number): { count: number; meanMs: number } {
  let tookMs = 0;
  let count = 0;
  for (; tookMs < 1000 * seconds; count++) tookMs += body(count);
  return { count, meanMs: tookMs / count };
}

const newKey = (): HotkeyPair => hotkeyOfMiniSecret(new Uint8Array(randomBytes(32)));

function openHub(signer: HotkeyPair): Hub<unknown, unknown> {
  return new Hub<unknown, unknown>({
    run: "bench",
    signer,
    verify: verifySignature,
    admit: () => null,
    tickets: hubTickets(signer, "bench"),
    read: (header) => parsed(header),
    limits: defaultNetLimits,
    timers: systemTimers,
    random: systemRandom,
    onEvent: () => {},
  });
}

function sign(hub: Hub<unknown, unknown>, caller: Caller): number {
  caller.ticket = null;
  return connect(hub, caller);
}

/** Milliseconds of the orchestrator's work. */
function connect(hub: Hub<unknown, unknown>, caller: Caller): number {
  const sent: Uint8Array[] = [];
  const wire: Wire = {
    bufferedBytes: 0,
    send: (frame) => sent.push(frame),
    close: () => {},
    pause: () => {},
    resume: () => {},
  };
  const acceptedMs = performance.now();
  const handler = hub.accept(wire);
  const acceptMs = performance.now() - acceptedMs;
  const greeting = answerChallenge(headerOf(sent[0]), {
    identity: { signer: caller.signer, role: "miner", run: null, hub: null },
    resume: null,
    ticket: caller.ticket,
    process: caller.process,
    random: systemRandom,
    nowMs: systemTimers.nowMs(),
  });
  assert(greeting.ok, "The challenge can be answered");
  const frame = encodeFrame({ header: greeting.value.hello });
  const helloedMs = performance.now();
  handler.frame(frame);
  const tookMs = acceptMs + performance.now() - helloedMs;
  const verify = () => true; // the node's half, which is not measured
  const answer = checkAccept(headerOf(sent[1]), { greeting: greeting.value, verify });
  assert(answer.ok, "The orchestrator accepts the hello");
  caller.ticket = answer.value.ticket;
  return tookMs;
}

function headerOf(bytes: Uint8Array | undefined): unknown {
  const frame = decodeFrame(bytes ?? new Uint8Array(0), defaultNetLimits);
  assert(frame.ok, "The orchestrator sends frames");
  return frame.value.header;
}

function measureSignature(pair: HotkeyPair): { signMs: number; verifyMs: number } {
  const message = new Uint8Array(randomBytes(500));
  const signature = pair.sign(message);
  const signMs = meanMs(() => pair.sign(message));
  const verifyMs = meanMs(() => assert(verifySignature({ address: pair.address, message, signature }), "It verifies"));
  return { signMs, verifyMs };
}

function meanMs(body: () => void, times = 300): number {
  const startedMs = performance.now();
  for (let count = 0; count < times; count++) body();
  return (performance.now() - startedMs) / times;
}
