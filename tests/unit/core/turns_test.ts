/** Work in turns: others are served between two of them, and parts give the bits of the whole. */

import { assert, assertEquals, assertLess } from "@std/assert";
import { type BlobAccess, blobAccess } from "../../../cli/roles/blob_access.ts";
import { mergeStage, reduceSlice, subtractInPlace } from "../../../cli/node/stages/merge_work.ts";
import { averageSlices } from "../../../core/update/average.ts";
import { outerStep, pseudoGradient } from "../../../core/update/outer.ts";
import { float32 } from "../../../core/update/payload/float32.ts";
import { fillRestored, restoreStage } from "../../../core/update/restore.ts";
import { fillInitial, initialParameters } from "../../../core/model/initial.ts";
import { parameterTable, stageSpecs } from "../../../core/model/spec.ts";
import { bytesOfFloats } from "../../../core/model/vector_bytes.ts";
import { leafBytes, nameOf, refOf } from "../../../net/blob_hash.ts";
import { MemoryBlobs } from "../../../net/blobs/blob_memory.ts";
import { inTurns } from "../../../net/turns.ts";
import { sha256Hex, sha256InTurns } from "../../../cli/files/file_entry.ts";
import { prngOf } from "../../support/small_prng.ts";
import { tinyConfig } from "../../support/tiny_model.ts";
import { varied } from "../../support/net/varied_bytes.ts";
import { fakeServer } from "../../support/net/fake_server.ts";

Deno.test("Turns: a socket is served while jobs of many turns run beside each other", async () => {
  await using server = await fakeServer(() => new Response("here"));
  const done = [0, 0];
  const jobs = done.map((_, job) => inTurns({ total: 400, unit: 1 }, () => void done[job]!++));
  const answer = await fetch(server.url);
  assertEquals(await answer.text(), "here");
  assert(done[0]! > 0 && done[1]! > 0, `both have begun: ${done}`);
  assertLess(Math.max(...done), 400, "the answer came before the end of any job");
  await Promise.all(jobs);
  assertEquals(done, [400, 400]);
});

Deno.test("Turns: work of one unit is done at once, and every unit once and in order", async () => {
  const spans: [number, number][] = [];
  const once = inTurns({ total: 5, unit: 5 }, (start, end) => spans.push([start, end]));
  assertEquals(spans, [[0, 5]]);
  await once;
  const heard: number[] = [];
  await inTurns(
    { total: 5, unit: 2, onProgress: (done) => heard.push(done) },
    (start, end) => spans.push([start, end]),
  );
  assertEquals(spans.slice(1), [[0, 2], [2, 4], [4, 5]]);
  assertEquals(heard, [2, 4, 5]);
});

Deno.test("Turns: initial and restored values made in parts are those made at once, wherever the cuts lie", () => {
  const [spec, next] = stageSpecs(tinyConfig(), [1, 1, 1]).map(parameterTable);
  const neighbours = [{ table: next!, parameters: initialParameters(next!, 7), weight: 2 }];
  const options = { table: spec!, seed: 5, neighbours };
  const initial = initialParameters(spec!, 5);
  const restored = restoreStage(options);
  const below = prngOf(3);
  for (let round = 0; round < 20; round++) {
    const [some, others] = [new Float32Array(spec!.length), new Float32Array(spec!.length)];
    for (let start = 0; start < spec!.length;) {
      const end = Math.min(spec!.length, start + 1 + below(9_000));
      fillInitial(spec!, { seed: 5, first: start }, some.subarray(start, end));
      fillRestored(options, start, others.subarray(start, end));
      start = end;
    }
    assertEquals(some, initial);
    assertEquals(others, restored);
  }
});

const length = 2 ** 20 + 77; // more than two turns
const vectorOf = (seed: number) => {
  const draw = prngOf(seed);
  return Float32Array.from({ length }, () => draw(2 ** 24) / 2 ** 24 - 0.5);
};

Deno.test("Turns: names and sums of large bytes are those of the whole", async () => {
  const bytes = varied(9 * leafBytes + 5, 4);
  assertEquals(await nameOf(bytes), refOf(bytes));
  assertEquals(await nameOf(new Uint8Array(0)), refOf(new Uint8Array(0)));
  assertEquals(await sha256InTurns([bytes, bytes.subarray(3)]), sha256Hex(bytes, bytes.subarray(3)));
  const store = new MemoryBlobs({ blobBytes: bytes.length, capacityBytes: bytes.length });
  assertEquals(await store.adopt(bytes), refOf(bytes));
  assertEquals(await store.get(refOf(bytes).hash), bytes);
});

Deno.test("Turns: payload, reduction and outer step of a large vector have the bits of one pass", async () => {
  const blobs: BlobAccess = blobAccess(new MemoryBlobs({ blobBytes: 8 * length, capacityBytes: 40 * length }));
  const [start, momentum, a, b] = [1, 2, 3, 4].map(vectorOf) as [
    Float32Array,
    Float32Array,
    Float32Array,
    Float32Array,
  ];
  assertEquals(await subtractInPlace(start, a.slice()), pseudoGradient({ start, current: a }));
  const inputs = await Promise.all(
    [a, b].map(async (each, j) => ({ payload: await blobs.put(bytesOfFloats(each)), weight: j + 1, scale: 0.5 })),
  );
  const average = averageSlices({ inputs: [a, b], weights: [1, 2], scales: [0.5, 0.5] });
  const reduced = await reduceSlice(float32, { inputs, blobs });
  assert(average.ok && reduced.ok);
  assertEquals(reduced.value, bytesOfFloats(average.value));
  const cut = 2 ** 19 + 64;
  const slices = await Promise.all(
    [a.subarray(0, cut), a.subarray(cut)].map((each) => blobs.put(bytesOfFloats(each))),
  );
  const outer = { learningRate: 0.7, momentum: 0.9 };
  const merged = await mergeStage({ start: { parameters: start, momentum }, slices, outer, codec: float32, blobs });
  assertEquals(
    merged,
    outerStep({ parameters: start, momentum, average: a, learningRate: 0.7, momentumFactor: 0.9 }),
  );
});

Deno.test("Turns: a reduction rejects the same as in one pass", async () => {
  const blobs = blobAccess(new MemoryBlobs({ blobBytes: 8 * length, capacityBytes: 40 * length }));
  const whole = vectorOf(1);
  const withNaN = whole.slice();
  withNaN[length - 1] = NaN;
  const reduce = async (...vectors: Float32Array[]) => {
    const inputs = [];
    for (const each of vectors) inputs.push({ payload: await blobs.put(bytesOfFloats(each)), weight: 1, scale: 1 });
    return (await reduceSlice(float32, { inputs, blobs })).ok;
  };
  assertEquals(await reduce(whole, whole), true);
  assertEquals(await reduce(whole, withNaN), false, "the last value of the last turn");
  assertEquals(await reduce(whole, whole.subarray(0, length - 1)), false);
  assertEquals(await reduce(), false);
});
