/** Sparse payloads: exact codes, bits per value, error feedback, embeddings, and bytes that no encoder writes. */

import { assert, assertAlmostEquals, assertEquals, assertLess } from "@std/assert";
import { atOnce } from "../../../core/long_work.ts";
import { BitReader, BitWriter } from "../../../core/update/payload/bit_stream.ts";
import { embeddingsIn } from "../../../core/update/payload/embeddings.ts";
import {
  type ChunkLayout,
  KeptValues,
  mostBits,
  readHead,
  readKept,
  writeKept,
} from "../../../core/update/payload/kept_values.ts";
import { chooseLargest } from "../../../core/update/payload/largest_values.ts";
import {
  type Embeddings,
  isWithin,
  type PayloadCodec,
  type ValueRange,
} from "../../../core/update/payload/payload_codec.ts";
import { payloadCodecOf } from "../../../core/update/payload/payload_codecs.ts";
import { sparse } from "../../../core/update/payload/sparse.ts";
import { unreadable } from "../../../core/update/payload_stats.ts";
import { embeddingName, headName, parameterTable, stageSpecs } from "../../../core/model/spec.ts";
import { noEmbeddings } from "../../support/no_embeddings.ts";
import { gaussOf } from "../../support/small_gauss.ts";
import { prngOf } from "../../support/small_prng.ts";
import { tinyConfig } from "../../support/tiny_model.ts";

const headBits = 8 + 4 + 15; // count, Rice parameter, level
const levels = [0x3f80];

/** Distinct places, ascending. */
function drawKept(draw: (below: number) => number, { values, count }: { values: number; count: number }): KeptValues {
  const kept = new KeptValues();
  const places = new Set<number>();
  while (places.size < count) places.add(draw(values));
  kept.places.set([...places].sort((a, b) => a - b));
  kept.count = count;
  for (let i = 0; i < count; i++) kept.codes[i] = draw(2);
  return kept;
}

function written(kept: KeptValues, layout: ChunkLayout): Uint8Array {
  const writer = new BitWriter();
  writeKept(writer, { kept, levels, layout });
  return writer.finish();
}

Deno.test("Sparse payload: 10,000 random chunks are read back exactly, within their bound", () => {
  const draw = prngOf(1);
  for (let round = 0; round < 10_000; round++) {
    const values = 1 + draw(4096);
    const mostKept = 1 + draw(Math.min(values, 160));
    const sent = drawKept(draw, { values, count: draw(mostKept + 1) });
    const layout: ChunkLayout = { values, mostKept, codeBits: draw(2) === 0 ? 1 : 8, levels: 1 };
    const bytes = written(sent, layout);
    assert(8 * (bytes.length - 1) < mostBits(layout), `${bytes.length} bytes`);
    const reader = new BitReader(bytes);
    const head = readHead(reader, layout)!;
    const kept = new KeptValues();
    assert(readKept(reader, { head, layout, kept }) && reader.isAtEnd);
    assertEquals(head.levels, sent.count === 0 ? [] : levels);
    assertEquals(kept.places.slice(0, kept.count), sent.places.slice(0, sent.count));
    assertEquals(kept.codes.slice(0, kept.count), sent.codes.slice(0, sent.count));
  }
});

Deno.test("Sparse payload: a gap and a sign take at most 8.6 bits at the default density", () => {
  const draw = prngOf(2);
  const chunks = 2000;
  const writer = new BitWriter();
  const layout: ChunkLayout = { values: 4096, mostKept: 128, codeBits: 1, levels: 1 };
  for (let chunk = 0; chunk < chunks; chunk++) {
    writeKept(writer, { kept: drawKept(draw, { values: 4096, count: 64 }), levels, layout });
  }
  const bits = (8 * writer.finish().length - chunks * headBits) / (chunks * 64);
  assert(bits <= 8.6, `${bits} bits`);
  assert(bits > 7.36 + 1, `${bits} bits, fewer than random places have`);
});

Deno.test("Sparse payload: at the default density it takes at most 0.018 bytes a value, heads and levels included", () => {
  const values = gaussian(12, 64 * 4096);
  for (const [name, each] of [["a bell curve", values], ["its cube", values.map((value) => value ** 3)]] as const) {
    const bytes = encode(each).length / values.length;
    assert(bytes <= 0.018, `${name}: ${bytes}`); // the bar of a merge's upload: 0.02
    assert(bytes > 64 * (7.36 + 1) / 8 / 4096, `${name}: ${bytes}, fewer than random places and signs need`);
  }
});

Deno.test("Sparse payload: the largest magnitudes are chosen, the lower place first where they are equal", () => {
  const draw = prngOf(3);
  for (let round = 0; round < 500; round++) {
    const values = Float32Array.from({ length: 1 + draw(300) }, () => (draw(9) - 4) * 2 ** (draw(60) - 30));
    const wanted = 1 + draw(values.length);
    const expected = [...values.keys()].filter((i) => values[i] !== 0)
      .sort((a, b) => Math.abs(values[b]!) - Math.abs(values[a]!) || a - b).slice(0, wanted).sort((a, b) => a - b);
    const places = new Uint16Array(values.length);
    const count = chooseLargest(values, wanted, places);
    assertEquals([...places.subarray(0, count)], expected);
  }
});

const gaussian = (seed: number, length: number): Float32Array => {
  const gauss = gaussOf(seed);
  return Float32Array.from({ length }, () => 1e-3 * gauss());
};

interface Encoding {
  readonly codec?: PayloadCodec;
  readonly residual?: Float32Array;
  readonly embeddings?: Embeddings;
}

function encode(
  values: Float32Array,
  { codec = sparse, residual = new Float32Array(values.length), embeddings = noEmbeddings }: Encoding = {},
): Uint8Array {
  return atOnce(codec.encode({ values: values.slice(), residual, embeddings }));
}

/** What a payload says, with the result's rounding to 8 bits of a chunk's largest. */
function meanOfOne(payload: Uint8Array, values: number, codec = sparse): Float32Array {
  const mean = atOnce(codec.average([{ payload, weight: 1, scale: 1 }]));
  assert(mean.ok);
  return atOnce(codec.decodeResult(mean.value, values))!;
}

Deno.test("Sparse payload: what is sent and what is left are the values and 0.95 of what was left before", () => {
  const length = 2 * 4096 + 640;
  const residual = new Float32Array(length);
  const [sent, meant] = [new Float64Array(length), new Float64Array(length)];
  const rounds = 40;
  for (let round = 0; round < rounds; round++) {
    const values = gaussian(round, length);
    const payload = encode(values, { residual });
    const decoded = meanOfOne(payload, length);
    for (let i = 0; i < length; i++) {
      sent[i] = 0.95 * sent[i]! + decoded[i]!;
      meant[i] = 0.95 * meant[i]! + values[i]!;
    }
  }
  let [error, size] = [0, 0];
  for (let i = 0; i < length; i++) {
    error = Math.max(error, Math.abs(sent[i]! + residual[i]! - meant[i]!));
    size = Math.max(size, Math.abs(meant[i]!));
  }
  assertLess(error / size, 0.02); // the rounding of results; without feedback it is 1
  const silent = new Float32Array(length);
  for (let round = 0; round < 200; round++) encode(silent, { residual });
  assertLess(residual.reduce((sum, each) => Math.max(sum, Math.abs(each)), 0), 1e-3 * size);
});

Deno.test("Sparse payload: what is sent is 64 values of one level with signs, and what is left is the rest", () => {
  const values = gaussian(7, 4096);
  const residual = new Float32Array(4096);
  const { squareSum, largest } = atOnce(sparse.inspect(encode(values, { residual }), 4096));
  const sent = values.map((value, i) => value - residual[i]!);
  const kept = sent.filter((value) => value !== 0);
  assertEquals(kept.length, 64);
  const magnitudes = new Set(kept.map((value) => Number(Math.abs(value).toPrecision(4))));
  assertEquals(magnitudes.size, 1, "one level");
  assert(sent.every((value, i) => value * values[i]! >= 0), "signs");
  assert(Math.abs(squareSum / sent.reduce((sum, value) => sum + value * value, 0) - 1) < 1e-5);
  assert(Math.abs(largest / Math.max(...magnitudes) - 1) < 1e-3);
});

Deno.test("Sparse payload: spoilt beyond what it keeps, it still leaves nothing that is not finite", () => {
  const values = gaussian(8, 3 * 4096);
  for (let i = 0; i < values.length; i += 2) values[i] = NaN;
  const residual = new Float32Array(values.length);
  assertEquals(atOnce(sparse.inspect(encode(values, { residual }), values.length)), unreadable);
  assert(residual.every(Number.isFinite) && residual.some((value) => value !== 0));
});

Deno.test("Sparse payload: a non-finite value spoils one payload, not the next ones", () => {
  const values = gaussian(8, 640);
  values[5] = NaN;
  values[9] = Infinity;
  const residual = new Float32Array(640);
  assertEquals(atOnce(sparse.inspect(encode(values, { residual }), 640)), unreadable);
  assert(atOnce(sparse.inspect(encode(gaussian(9, 640), { residual }), 640)).isFinite);
});

Deno.test("Sparse payload: embeddings are twice as dense, and the density is the run's", () => {
  const values = gaussian(10, 3 * 4096);
  const countOf = (payload: Uint8Array, codec = sparse) =>
    meanOfOne(payload, values.length, codec).filter((value) => value !== 0).length;
  const { outer } = tinyConfig();
  const dense = payloadCodecOf({ outer: { ...outer, payload: "sparse", density: 1 / 16 } });
  assertEquals(countOf(encode(values)), 3 * 64);
  const countWith = (ranges: readonly ValueRange[], share: number) =>
    countOf(encode(values, { embeddings: { ranges, share } }));
  assertEquals(countWith([{ start: 0, end: 4096 }], 0), 4 * 64);
  assertEquals(countWith([{ start: 2048, end: 3 * 4096 }], 0), 96 + 4 * 64);
  assertEquals(countOf(encode(values, { codec: dense }), dense), 3 * 256);
  const all = encode(values, { codec: dense, embeddings: { ranges: [{ start: 0, end: values.length }], share: 0 } });
  assertEquals(countOf(all, dense), 6 * 256);
  assert(isWithin(dense.payloadBytes(values.length), all.length));
  assertEquals(atOnce(sparse.inspect(all, values.length)), unreadable, "more than the run's density allows");
});

Deno.test("Sparse payload: whatever a stage's share of embeddings is, it keeps the density of its values", () => {
  const values = gaussian(11, 60 * 4096);
  for (const share of [0, 0.2, 0.5, 1]) {
    const ranges = [{ start: 0, end: share * values.length }];
    const payload = encode(values, { embeddings: { ranges, share } });
    const kept = meanOfOne(payload, values.length).filter((value) => value !== 0).length;
    assertAlmostEquals(kept * 64 / values.length, 1, 0.02, `share ${share}`);
    assert(payload.length <= 0.02 * values.length, `${payload.length / values.length} bytes a value`);
  }
});

Deno.test("Sparse payload: embedding and head are where the stage's table has them", () => {
  const config = tinyConfig();
  const tables = stageSpecs(config, [1, 1, 1]).map(parameterTable);
  const found = tables.map((table) => embeddingsIn(table, { offset: 0, size: table.length }).ranges);
  const rangeOf = (stage: number, name: string) => {
    const { offset, size } = tables[stage]!.tensors.find((tensor) => tensor.name === name)!;
    return [{ start: offset, end: offset + size }];
  };
  assertEquals(found, [rangeOf(0, embeddingName), [], rangeOf(2, headName)]);
  const [{ start, end } = { start: 0, end: 0 }] = found[2]!;
  assertEquals(embeddingsIn(tables[2]!, { offset: start - 64, size: 128 }).ranges, [{ start: 64, end: 128 }]);
  assertEquals(embeddingsIn(tables[2]!, { offset: end, size: 64 }).ranges, []);
});

/** A payload of one chunk, bit by bit. */
function crafted(parts: readonly (readonly [value: number, bits: number])[], values = 4096): Uint8Array {
  const writer = new BitWriter();
  writer.write32(values);
  for (const [value, bits] of parts) writer.write(value, bits);
  return writer.finish();
}

Deno.test("Sparse payload: no count, table, place or padding that an encoder does not write is read", () => {
  const one = (level: number, tail: readonly (readonly [number, number])[] = [[1, 1], [0, 1]]) =>
    crafted([[1, 8], [0, 4], [level, 15], ...tail]);
  assert(atOnce(sparse.inspect(one(0x3f80), 4096)).isFinite, "the one beside all wrong ones");
  const wrong: Record<string, Uint8Array> = {
    "more values than the density allows": crafted([[129, 8], ...Array(60).fill([0, 24])]),
    "the largest count": crafted([[255, 8], ...Array(60).fill([0, 24])]),
    "a Rice parameter beyond a chunk": crafted([[1, 8], [13, 4], [1, 15], [1, 1], [0, 14]]),
    "an infinite level": one(0x7f80),
    "a NaN": one(0x7fc0),
    "a place beyond the chunk": crafted([[1, 8], [12, 4], [1, 15], [2, 2], [0, 12], [0, 1]]),
    "no end of a gap": one(1, [[0, 3]]),
    "padding": one(1, [[1, 1], [0, 1], [7, 3]]),
    "bytes after the end": one(1, [[1, 1], [0, 1], [0, 24]]),
    "a giant number of values": crafted([[0, 8]], 2 ** 32 - 1),
  };
  for (const [name, payload] of Object.entries(wrong)) {
    const values = name.includes("number of values") ? 2 ** 32 - 1 : 4096;
    assertEquals(atOnce(sparse.inspect(payload, values)), unreadable, name);
    const mean = atOnce(sparse.average([{ payload, weight: 1, scale: 1 }]));
    assert(!mean.ok && mean.fault.code === "badNumbers", name);
  }
});

Deno.test("Sparse result: no count, code, place or padding that an encoder does not write is read", () => {
  const one = (scale: number, code: number, tail: readonly (readonly [number, number])[] = []) =>
    crafted([[1, 13], [0, 4], [scale, 15], [1, 1], [code, 8], ...tail]);
  assertEquals(atOnce(sparse.decodeResult(one(0x3f80, 255), 4096))?.[0], 127);
  const wrong: Record<string, Uint8Array> = {
    "no code": one(0x3f80, 128),
    "a code whose negative does not exist": one(0x3f80, 0),
    "more than float32 holds": one(0x7f00, 255),
    "a NaN": one(0x7fc0, 255),
    "more values than the chunk has": crafted([[4097, 13], ...Array(60).fill([0, 24])]),
    "a Rice parameter beyond a chunk": crafted([[1, 13], [13, 4], [0x3f80, 15], [1, 1], [0, 21]]),
    "a place beyond the chunk": crafted([[1, 13], [12, 4], [0x3f80, 15], [2, 2], [0, 12], [255, 8]]),
    "no end of a gap": crafted([[1, 13], [0, 4], [0x3f80, 15], [0, 16]]),
    "padding": one(0x3f80, 255, [[7, 3]]),
    "bytes after the end": one(0x3f80, 255, [[0, 24]]),
    "a giant number of values": crafted([[0, 13]], 2 ** 32 - 1),
  };
  for (const [name, result] of Object.entries(wrong)) {
    assertEquals(atOnce(sparse.decodeResult(result, 2 ** 32 - 1)), null, name);
  }
  assertEquals(atOnce(sparse.decodeResult(one(0x3f80, 255), 4095)), null, "more values than wanted");
});
