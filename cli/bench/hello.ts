/**
 * What a connecting node costs the hub's thread: the production hub over wires in memory, each hello by a key of its own.
 *
 * Owns: counting only the hub's own work (the challenge, the check, the answer); the node's signature is made between. The two
 * signature operations are also measured alone, as they are nearly all of it.
 */

import { randomBytes } from "node:crypto";
import { hotkeyOfMiniSecret, type HotkeyPair, verifySignature } from "../../chain/wallet/hotkey.ts";
import { assert } from "../../core/assert.ts";
import { parsed } from "../../core/fault.ts";
import { decodeFrame, encodeFrame } from "../../net/frame.ts";
import { answerChallenge } from "../../net/hello.ts";
import { Hub } from "../../net/hub.ts";
import { defaultNetLimits } from "../../net/limits.ts";
import { systemRandom, systemTimers } from "../../net/timers.ts";
import type { Wire } from "../../net/wire.ts";

export interface HelloCost {
  readonly hellos: number;
  readonly hellosPerSecond: number;
  readonly helloMs: number;
  readonly signMs: number;
  readonly verifyMs: number;
}

const keys = 64; // new nodes and returning ones cost the same

export function measureHello(seconds: number): HelloCost {
  const pairs = Array.from({ length: keys }, () => hotkeyOfMiniSecret(new Uint8Array(randomBytes(32))));
  const hub = openHub(pairs[0]!);
  for (let count = 0; count < keys; count++) connect(hub, pairs[1 + count % (keys - 1)]!); // the compiler warms up
  let hubMs = 0;
  let hellos = 0;
  for (; hubMs < 1000 * seconds; hellos++) hubMs += connect(hub, pairs[1 + hellos % (keys - 1)]!);
  hub.shutDown("benchmark over");
  return { hellos, hellosPerSecond: hellos / (hubMs / 1000), helloMs: hubMs / hellos, ...measureSignature(pairs[0]!) };
}

function openHub(signer: HotkeyPair): Hub<unknown, unknown> {
  return new Hub<unknown, unknown>({
    run: "bench",
    signer,
    verify: verifySignature,
    admit: () => null,
    read: (header) => parsed(header),
    limits: defaultNetLimits,
    timers: systemTimers,
    random: systemRandom,
    onEvent: () => {},
  });
}

/** Milliseconds of the hub's work. */
function connect(hub: Hub<unknown, unknown>, signer: HotkeyPair): number {
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
  const challenge = decodeFrame(sent[0]!, defaultNetLimits);
  assert(challenge.ok, "The hub's challenge is a frame");
  const hello = answerChallenge(challenge.value.header, {
    identity: { signer, role: "miner", run: null, hub: null },
    resume: null,
    random: systemRandom,
  });
  assert(hello.ok, "The challenge can be answered");
  const frame = encodeFrame({ header: hello.value });
  const helloedMs = performance.now();
  handler.frame(frame);
  const tookMs = acceptMs + performance.now() - helloedMs;
  assert(sent.length === 2, "The hub answers a hello");
  return tookMs;
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
