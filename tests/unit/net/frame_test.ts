/** Frames: the way there and back, and that no bytes whatever make decoding throw. */

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { hashOf, leafBytes } from "../../../net/blob_hash.ts";
import {
  decodeFrame,
  encodeFrame,
  macBytes,
  macStart,
  setAcknowledged,
  writeChecksums,
} from "../../../net/messages/frame.ts";
import { readHubMessage } from "../../../net/messages/schema_hub.ts";
import { readNodeMessage } from "../../../net/messages/schema_node.ts";
import { faultCodes } from "../../../net/messages/schema_values.ts";
import { hubSamples, nodeSamples } from "../../support/net/message_vectors.ts";
import { mutate } from "../../support/attack/mutated_bytes.ts";
import { prngOf } from "../../support/small_prng.ts";
import { cases } from "../../support/whole.ts";

const limits = { frameBytes: 100_000, headerBytes: 10_000, headerDepth: 8, segments: 4 };

const full = encodeFrame({
  header: { type: "note", list: [1, 2, { deep: "text" }] },
  segments: [Uint8Array.of(1, 2, 3), new Uint8Array(0), new Uint8Array(16).fill(7)],
  sequence: 9,
  acknowledged: 4,
});

function problem(bytes: Uint8Array): string {
  const frame = decodeFrame(bytes, limits);
  assert(!frame.ok, "must be refused");
  return frame.fault.detail;
}

/** With checksums that fit, so that the rules behind them are reached. */
function changed(offset: number, value: number): Uint8Array {
  const bytes = full.slice();
  new DataView(bytes.buffer).setUint32(offset, value, true);
  writeChecksums(bytes);
  return bytes;
}

function resealed(bytes: Uint8Array): Uint8Array {
  const copy = bytes.slice();
  writeChecksums(copy);
  return copy;
}

Deno.test("Frame: header, segments and counters come back, segments at multiples of 8", () => {
  const frame = decodeFrame(full, limits);
  assert(frame.ok);
  assertEquals(frame.value.header, { type: "note", list: [1, 2, { deep: "text" }] });
  assertEquals(frame.value.segments.map((segment) => [...segment]), [[1, 2, 3], [], Array(16).fill(7)]);
  assertEquals([frame.value.sequence, frame.value.acknowledged], [9, 4]);
  assert(frame.value.segments.every((segment) => segment.byteOffset % 8 === 0));
});

Deno.test("Frame: bytes that start anywhere in their buffer give aligned segments", () => {
  const shifted = new Uint8Array(full.length + 3);
  shifted.set(full, 3);
  const frame = decodeFrame(shifted.subarray(3), limits);
  assert(frame.ok);
  assert(frame.value.segments.every((segment) => segment.byteOffset % 8 === 0));
  assertEquals([...frame.value.segments[0]!], [1, 2, 3]);
});

Deno.test("Frame: a bare acknowledgement is 44 bytes", () => {
  const bytes = encodeFrame({ header: null, acknowledged: 1 });
  setAcknowledged(bytes, 77);
  assertEquals(bytes.length, 44);
  const frame = decodeFrame(bytes, limits);
  assertEquals(frame.ok && frame.value, {
    header: null,
    segments: [],
    names: [],
    sequence: 0,
    acknowledged: 77,
  });
});

Deno.test("Frame: each broken rule is named", () => {
  assertStringIncludes(problem(new Uint8Array(5)), "less than a prefix");
  assertStringIncludes(problem(changed(0, 0)), "begin with 'iota'");
  assertStringIncludes(problem(changed(4, 0x0003_0002)), "its layout is 2, and this program reads 3");
  assertStringIncludes(problem(changed(4, 0x0005_0003)), "'segments' must be at most 4, and is 5");
  assertStringIncludes(problem(changed(8, 10_001)), "'headerBytes' must be at most 10000");
  assertStringIncludes(problem(changed(8, 5_000)), "ends inside its header");
  assertStringIncludes(problem(changed(44, 90_000)), "ends inside segment 0");
  assertStringIncludes(problem(resealed(full.subarray(0, full.length - 1))), "ends inside segment 2");
  assertStringIncludes(problem(resealed(Uint8Array.of(...full, 0))), "1 bytes follow its last segment");
  assertStringIncludes(problem(new Uint8Array(100_001)), "'frameBytes' must be at most 100000");
  assertStringIncludes(
    problem(encodeFrame({ header: null, segments: [new Uint8Array(1)] })),
    "only an acknowledgement",
  );
});

Deno.test("Frame: segments come with their names, and another content is noticed although its checksums fit", () => {
  const [first, second] = [Uint8Array.of(1, 2, 3), new Uint8Array(2 * leafBytes).fill(4)];
  const large = { ...limits, frameBytes: 4 * leafBytes };
  const named = encodeFrame({ header: {}, segments: [first, { bytes: second, hash: hashOf(second) }] });
  assertEquals(named, encodeFrame({ header: {}, segments: [first, second] }));
  const frame = decodeFrame(named, large);
  assertEquals(frame.ok && frame.value.names, [hashOf(first), hashOf(second)]);
  const swapped = named.slice();
  swapped[swapped.length - 1]! ^= 1;
  writeChecksums(swapped);
  const other = decodeFrame(swapped, large);
  assertStringIncludes(other.ok ? "" : other.fault.detail, "segment 1 does not match its hash");
});

Deno.test("Frame: any flipped bit is noticed, in the prefix and in the content; the MAC is its owner's to check", () => {
  const isOfMac = (bit: number) => bit >= 8 * macStart && bit < 8 * (macStart + macBytes);
  for (let bit = 0; bit < 8 * full.length; bit++) {
    if (isOfMac(bit)) continue;
    const bytes = full.slice();
    bytes[bit >> 3]! ^= 1 << (bit & 7);
    assertEquals(decodeFrame(bytes, limits).ok, false, `bit ${bit}`);
  }
});

Deno.test("Frame: a new acknowledgement leaves the checksums right", () => {
  const bytes = full.slice();
  setAcknowledged(bytes, 1_000_000);
  const frame = decodeFrame(bytes, limits);
  assertEquals(frame.ok && frame.value.acknowledged, 1_000_000);
});

Deno.test("Frame: mutated, truncated and random frames give a typed fault or a valid message", () => {
  const pick = prngOf(20_260_801);
  const headers: unknown[] = [...Object.values(nodeSamples), ...Object.values(hubSamples)];
  const frames = headers.map((header, index) =>
    encodeFrame({ header, segments: index % 3 === 0 ? [new Uint8Array(index)] : [], sequence: index + 1 })
  );
  const codes = new Set<string>(faultCodes);
  const seen = new Map<string, number>();
  const any = () => frames[pick(frames.length)]!;
  for (let round = 0; round < cases(40_000); round++) {
    const bytes = mutate(any(), any(), pick);
    if (bytes.length >= 44 && pick(4) > 0) writeChecksums(bytes); // or hardly any would get past them
    const frame = decodeFrame(bytes, limits);
    const read = round % 2 === 0 ? readNodeMessage : readHubMessage;
    const result = frame.ok ? read(frame.value.header, frame.value.segments) : frame;
    if (!result.ok) assert(codes.has(result.fault.code) && result.fault.detail.length < 600, result.fault.detail);
    const outcome = result.ok ? "accepted" : result.fault.code;
    seen.set(outcome, (seen.get(outcome) ?? 0) + 1);
  }
  for (const outcome of ["malformedFrame", "malformedMessage", "limitExceeded", "versionMismatch"]) {
    assert((seen.get(outcome) ?? 0) > 20, `the mutations must reach ${outcome}: ${JSON.stringify([...seen])}`);
  }
});
