/**
 * Damaged, made-up and hostile frames and requests: none crashes anything, makes anything grow, or stays without an answer.
 *
 * FUZZ=n tries n cases; without it 5,000, or 2,000,000 where SEEDS asks for a thousand or more, as `make sim` does.
 */

import { setImmediate } from "node:timers";
import v8 from "node:v8";
import vm from "node:vm";
import { assert } from "@std/assert";
import { decodeFrame, encodeFrame, writeChecksums } from "../../net/messages/frame.ts";
import { defaultNetLimits } from "../../net/limits.ts";
import { readNodeMessage } from "../../net/messages/schema_node.ts";
import { faultCodes } from "../../net/messages/schema_values.ts";
import { FuzzedApi } from "../support/attack/fuzzed_api.ts";
import { FuzzedHub } from "../support/attack/fuzzed_hub.ts";
import { nodeSamples } from "../support/net/message_vectors.ts";
import { mutate } from "../support/attack/mutated_bytes.ts";
import { prngOf } from "../support/small_prng.ts";

const cases = Number(Deno.env.get("FUZZ") ?? (Number(Deno.env.get("SEEDS") ?? 0) >= 1000 ? 2_000_000 : 5_000));
const mostGrowthBytes = 16 * 1024 * 1024; // 8 bytes for each of two million cases

v8.setFlagsFromString("--expose-gc");
const collectGarbage: () => void = vm.runInNewContext("gc");

/** What native objects hold is freed in a turn of the event loop of its own. */
async function livingBytes(): Promise<number> {
  collectGarbage();
  await new Promise<void>((resolve) => setImmediate(resolve));
  collectGarbage();
  return Deno.memoryUsage().heapUsed;
}

/** Runs a share of the cases; what lives after them must be what lived after half of them. */
async function fuzz(share: number, tryCase: () => void | Promise<void>): Promise<void> {
  const count = Math.ceil(cases * share);
  let halfBytes = 0;
  for (let done = 0; done < count; done++) {
    await tryCase();
    if (done === count >> 1) halfBytes = await livingBytes();
  }
  const grownBytes = await livingBytes() - halfBytes;
  assert(grownBytes <= mostGrowthBytes, `${grownBytes} bytes more live after ${count} cases than after half of them`);
}

/** Every way out that the mutations should find; a test that finds few tests little. */
function mustReach(outcomes: ReadonlyMap<string, number>, expected: readonly string[]): void {
  for (const outcome of expected) {
    assert(outcomes.has(outcome), `the cases must reach '${outcome}': ${JSON.stringify([...outcomes])}`);
  }
}

Deno.test(`Fuzz: ${0.5 * cases} frames give a message or a typed fault`, async () => {
  const below = prngOf(20_261_122);
  const frames = Object.values(nodeSamples).map((header, index) =>
    encodeFrame({ header, segments: index % 3 === 0 ? [new Uint8Array(index)] : [], sequence: index + 1 })
  );
  const limits = { ...defaultNetLimits, headerBytes: 4096, headerValues: 64, frameBytes: 8192 };
  const codes = new Set<string>(faultCodes);
  const outcomes = new Map<string, number>();
  await fuzz(0.5, () => {
    const bytes = mutate(frames[below(frames.length)]!, frames[below(frames.length)]!, below);
    if (bytes.length >= 28 && below(4) > 0) writeChecksums(bytes);
    const frame = decodeFrame(bytes, limits);
    const message = frame.ok ? readNodeMessage(frame.value.header, frame.value.segments) : frame;
    if (!message.ok) assert(codes.has(message.fault.code) && message.fault.detail.length < 600, message.fault.detail);
    const outcome = message.ok ? "message" : message.fault.code;
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
  });
  mustReach(outcomes, ["message", "malformedFrame", "malformedMessage", "limitExceeded", "versionMismatch"]);
});

Deno.test(`Fuzz: ${0.2 * cases} hellos are answered, and strangers leave nothing but a number`, async () => {
  const below = prngOf(1);
  const hub = new FuzzedHub();
  await fuzz(0.2, () => hub.tryHello(below));
  mustReach(hub.outcomes, [
    ...["accept", "malformedFrame", "malformedMessage", "limitExceeded", "unauthenticated"].map((code) =>
      `hello: ${code}`
    ),
    "member: refusals",
  ]);
  assert(hub.outcomes.get("member: refusals")! <= hub.reportsDue, "one report at once, then one for each minute");
  hub.stop();
});

Deno.test(`Fuzz: ${0.2 * cases} frames of a member are messages, faults, or the end of its link`, async () => {
  const below = prngOf(2);
  const hub = new FuzzedHub();
  await fuzz(0.2, () => hub.tryMessage(below));
  mustReach(
    hub.outcomes,
    ["message", "linkDamaged malformedFrame", "fault malformedMessage", "peerDisconnected"].map((what) =>
      `member: ${what}`
    ),
  );
  hub.stop();
});

Deno.test(`Fuzz: ${0.2 * cases} requests get answers that were meant, with typed faults`, async () => {
  const below = prngOf(3);
  const api = new FuzzedApi();
  await api.open();
  await fuzz(0.2, () => api.tryRequest(below));
  mustReach(api.outcomes, [200, 206, 401, 404].map((status) => `http: ${status}`));
});
