/** Payload codecs: what every record promises, hostile bytes, and the frozen bytes of each codec in the table. */

import { assert, assertAlmostEquals, assertEquals, assertStringIncludes } from "@std/assert";
import { atOnce } from "../../../core/long_work.ts";
import { averageSlices } from "../../../core/update/average.ts";
import { boundsText, isWithin, type PayloadCodec } from "../../../core/update/payload/payload_codec.ts";
import { payloadCodecOf, payloadCodecs } from "../../../core/update/payload/payload_codecs.ts";
import { payloadStats, unreadable } from "../../../core/update/payload_stats.ts";
import { bytesOfFloats } from "../../../core/model/vector_bytes.ts";
import frozen from "../../vectors/merge/payloads.json" with { type: "json" };
import { noEmbeddings } from "../../support/no_embeddings.ts";
import { topHalf } from "../../support/top_half_codec.ts";
import { prngOf } from "../../support/small_prng.ts";
import { tinyConfig } from "../../support/tiny_model.ts";

const { float32 } = payloadCodecs;

function valuesOf(seed: number, length = 640): Float32Array {
  const draw = prngOf(seed);
  return Float32Array.from({ length }, () => (draw(2 ** 24) / 2 ** 24 - 0.5) * 1e-3);
}

const encoded = (codec: PayloadCodec, values: Float32Array, residual = new Float32Array(values.length)): Uint8Array =>
  atOnce(
    codec.encode({ values: values.slice(), residual: codec.keepsResidual ? residual : null, embeddings: noEmbeddings }),
  );

const hex = (bytes: Uint8Array): string => bytes.toHex();

for (const codec of [...Object.values(payloadCodecs), topHalf]) {
  Deno.test(`Payload codec ${codec.name}: bytes and results lie within their bounds, and are the same again`, () => {
    for (const length of [64, 128, 640]) {
      const payloads = [1, 2, 3].map((seed) => encoded(codec, valuesOf(seed, length)));
      assertEquals(payloads, [1, 2, 3].map((seed) => encoded(codec, valuesOf(seed, length))));
      for (const payload of payloads) {
        assert(isWithin(codec.payloadBytes(length), payload.byteLength), `${payload.byteLength}`);
        assert(atOnce(codec.inspect(payload, length)).isFinite);
      }
      const inputs = payloads.map((payload, i) => ({ payload, weight: i + 1, scale: 1 }));
      const result = atOnce(codec.average(inputs));
      assert(result.ok && isWithin(codec.resultBytes(length), result.value.byteLength));
      assertEquals(atOnce(codec.decodeResult(result.value, length))?.length, length);
    }
  });

  Deno.test(`Payload codec ${codec.name}: cutting a vector costs no more than it says`, () => {
    for (const [first, second] of [[64, 64], [64, 576], [320, 320]] as const) {
      const [a, b, both] = [first, second, first + second].map((values) => codec.payloadBytes(values).most);
      assert(a! + b! <= both! + codec.bytesPerCut);
    }
  });

  Deno.test(`Payload codec ${codec.name}: a payload that says it is its own average is one, to the bit`, () => {
    const payload = encoded(codec, valuesOf(4));
    const mean = atOnce(codec.average([{ payload, weight: 3, scale: 1 }]));
    assert(mean.ok);
    assertEquals(codec.isOwnAverage, payload.length === mean.value.length && hex(payload) === hex(mean.value));
  });

  Deno.test(`Payload codec ${codec.name}: hostile bytes are answered and never throw`, () => {
    const payload = encoded(codec, valuesOf(5));
    const shifted = new Uint8Array(payload.byteLength + 1);
    shifted.set(payload, 1);
    assertEquals(atOnce(codec.inspect(shifted.subarray(1), 640)), atOnce(codec.inspect(payload, 640)), "unaligned");
    const wrong = [
      new Uint8Array(0),
      payload.subarray(0, payload.byteLength - 1),
      payload.subarray(0, payload.byteLength - 4),
      shifted,
      new Uint8Array(payload.byteLength + 4),
      new Uint8Array(2 ** 20).fill(255),
    ];
    for (const bytes of wrong) {
      assertEquals(atOnce(codec.inspect(bytes, 640)), unreadable, `${bytes.byteLength} bytes`);
      const inputs = [payload, bytes].map((each) => ({ payload: each, weight: 1, scale: 1 }));
      assertEquals(atOnce(codec.average(inputs)).ok, false, `${bytes.byteLength} bytes`);
      atOnce(codec.decodeResult(bytes, 640));
    }
    assertEquals(atOnce(codec.inspect(payload, 576)), unreadable, "of another number of values");
    assertEquals(atOnce(codec.decodeResult(new Uint8Array(67), 640)), null);
    const noise = prngOf(6);
    for (let round = 0; round < 200; round++) {
      const bytes = payload.slice(0, noise(payload.byteLength + 1));
      for (let i = 0; i < 8 && bytes.length > 0; i++) bytes[noise(bytes.length)] = noise(256);
      atOnce(codec.inspect(bytes, 640));
      atOnce(codec.average([{ payload: bytes, weight: 1, scale: 1 }, { payload, weight: 1, scale: 1 }]));
      atOnce(codec.decodeResult(bytes, 640));
    }
  });

  Deno.test(`Payload codec ${codec.name}: NaN, infinity and huge values show, and are not averaged unless finite`, () => {
    const with_ = (value: number) => {
      const values = valuesOf(7);
      values[17] = value;
      return encoded(codec, values);
    };
    const bad = topHalf === codec ? [Infinity, -Infinity] : [NaN, Infinity, -Infinity]; // the test's own drops a NaN
    for (const value of bad) assertEquals(atOnce(codec.inspect(with_(value), 640)).isFinite, false);
    const { largest } = atOnce(codec.inspect(with_(3e38), 640));
    const shown = codec.name === "sparse" ? 3e38 / 10 : 3e38; // a sparse payload says the mean of the 10 that it keeps
    assert(Math.abs(largest / shown - 1) < 0.01, `${largest}`);
    const inputs = [with_(Infinity), with_(1)].map((payload) => ({ payload, weight: 1, scale: 1 }));
    assertEquals(atOnce(codec.average(inputs)).ok, false);
    const huge = [with_(3e38), with_(3e38)].map((payload) => ({ payload, weight: 2 ** 40, scale: 1 }));
    assertEquals(atOnce(codec.average(huge)).ok, true);
  });
}

/** float32's bytes are older than this rule: it sums in merge order. */
const inAnyOrder = Object.values(payloadCodecs).filter((codec) => float32 !== codec);

for (const codec of inAnyOrder) {
  Deno.test(`Payload codec ${codec.name}: the mean is the same bytes for every order of the payloads`, () => {
    const draw = prngOf(11);
    const inputs = Array.from({ length: 20 }, (_, i) => ({
      payload: encoded(codec, valuesOf(i, 4096 + 640)),
      weight: 1 + draw(1000) / 7,
      scale: 1 / (1 + draw(3)),
    }));
    const large = valuesOf(21, 4096 + 640).map((value) => value * 2 ** 49);
    for (const sign of [1, -1]) { // cancel each other, after which a sum of floats has lost what it had before
      inputs.push({ payload: encoded(codec, large.map((value) => sign * value)), weight: 100, scale: 1 });
    }
    const mean = atOnce(codec.average(inputs));
    assert(mean.ok);
    for (let round = 0; round < 20; round++) {
      for (let i = inputs.length - 1; i > 0; i--) {
        const other = draw(i + 1);
        [inputs[i], inputs[other]] = [inputs[other]!, inputs[i]!];
      }
      assertEquals(atOnce(codec.average(inputs)), mean);
    }
  });
}

for (const codec of Object.values(payloadCodecs)) {
  Deno.test(`Payload codec ${codec.name}: the mean is the weighted mean of the payloads, to the rounding of a result`, () => {
    const length = 4096 + 640;
    const decoded = (payload: Uint8Array) => {
      const alone = atOnce(codec.average([{ payload, weight: 2, scale: 1 }]));
      assert(alone.ok);
      return atOnce(codec.decodeResult(alone.value, length))!;
    };
    const inputs = [1, 2, 3].map((seed) => ({
      payload: encoded(codec, valuesOf(seed, length)),
      weight: seed,
      scale: 1 / seed,
    }));
    const mean = atOnce(codec.average(inputs));
    assert(mean.ok);
    const values = atOnce(codec.decodeResult(mean.value, length))!;
    const parts = inputs.map(({ payload }) => decoded(payload));
    const largest = Math.max(...parts.map((part) => payloadStats(part).largest));
    for (let i = 0; i < length; i++) {
      const wanted = parts.reduce((sum, part) => sum + part[i]! / 6, 0); // weight times scale is 1 for each
      assert(Math.abs(values[i]! - wanted) <= largest / 100, `${i}: ${values[i]} ${wanted}`);
    }
  });
}

Deno.test("Payload codec float32: a payload is the values, its check and its mean are those of one pass", () => {
  const [a, b] = [valuesOf(1), valuesOf(2)];
  assertEquals(encoded(float32, a), bytesOfFloats(a));
  const long = valuesOf(8, 2 ** 20 + 64); // more than one unit
  const { isFinite, squareSum, largest } = atOnce(float32.inspect(bytesOfFloats(long), long.length));
  const whole = payloadStats(long);
  assertEquals([isFinite, largest], [whole.isFinite, whole.largest]);
  assert(Math.abs(squareSum / whole.squareSum - 1) < 1e-12);
  const mean = averageSlices({ inputs: [a, b], weights: [1, 3], scales: [1, 0.5] });
  const inputs = [{ payload: bytesOfFloats(a), weight: 1, scale: 1 }, {
    payload: bytesOfFloats(b),
    weight: 3,
    scale: 0.5,
  }];
  const result = atOnce(float32.average(inputs));
  assert(mean.ok && result.ok);
  assertEquals(result.value, bytesOfFloats(mean.value));
  for (const weight of [-1, NaN, Infinity]) {
    assertEquals(atOnce(float32.average([{ payload: bytesOfFloats(a), weight, scale: 1 }])).ok, false);
  }
  const ragged = atOnce(float32.average([{ payload: new Uint8Array(7), weight: 1, scale: 1 }]));
  assert(!ragged.ok);
  assertStringIncludes(ragged.fault.detail, "7 bytes");
});

for (const codec of [payloadCodecs.bf16, payloadCodecs.int8]) {
  Deno.test(`Payload codec ${codec.name}: a sum keeps 32 bits of its largest term, also where large terms cancel`, () => {
    const small = 2 ** -30; // of the largest: its last two bits of 32
    const inputs = [1, -1, small].map((value) => ({
      ...{ payload: encoded(codec, new Float32Array(64).fill(value)), weight: 1, scale: 1 },
    }));
    const result = atOnce(codec.average(inputs));
    assert(result.ok);
    const mean = atOnce(codec.decodeResult(result.value, 64))!;
    for (const value of mean) assertAlmostEquals(value, small / 3, small / 6);
  });
}

Deno.test("Payload codec int8: scales that are no number, or too large for the largest code, are refused at the right length", () => {
  const { int8 } = payloadCodecs;
  const payload = encoded(int8, valuesOf(10, 128));
  const withScale = (level: number) => {
    const bytes = payload.slice();
    bytes.set([level & 0xff, level >>> 8], 66); // of the second block
    return bytes;
  };
  assert(atOnce(int8.inspect(withScale(0x7b80), 128)).isFinite, "128 times it is a float32");
  for (const level of [0x7f80, 0x7fc0, 0xffff, 0x8000, 0xbf80, 0x7f00]) {
    const bytes = withScale(level);
    assertEquals(atOnce(int8.inspect(bytes, 128)), unreadable, level.toString(16));
    assertEquals(atOnce(int8.decodeResult(bytes, 128)), null, level.toString(16));
    const mean = atOnce(int8.average([payload, bytes].map((each) => ({ payload: each, weight: 1, scale: 1 }))));
    assert(!mean.ok && mean.fault.code === "badNumbers", level.toString(16));
  }
});

Deno.test("Payload codec: long work pauses between its units, short work never does", () => {
  const pauses = (length: number) => {
    const work = float32.inspect(new Uint8Array(4 * length), length);
    let count = 0;
    while (work.next().done !== true) count += 1;
    return count;
  };
  assertEquals([pauses(64), pauses(2 ** 20), pauses(2 ** 20 + 64), pauses(3 * 2 ** 20)], [0, 0, 1, 2]);
});

Deno.test("Payload codec topHalf: what a payload leaves out comes with the next ones", () => {
  const values = valuesOf(9, 64);
  const residual = new Float32Array(64);
  const sum = new Float32Array(64);
  for (let round = 0; round < 2; round++) {
    const payload = encoded(topHalf, round === 0 ? values : new Float32Array(64), residual);
    const result = atOnce(topHalf.average([{ payload, weight: 1, scale: 1 }]));
    assert(result.ok);
    atOnce(topHalf.decodeResult(result.value, 64))!.forEach((value, i) => sum[i]! += value);
  }
  assertEquals(sum, values);
  assertEquals(residual, new Float32Array(64));
});

Deno.test("Payload codecs: the bytes behind a name and a version are frozen", () => {
  const values = Float32Array.of(0, 1, -1.5, 2 ** -126, ...Array(60).fill(0.1));
  const { outer } = tinyConfig();
  const denser = payloadCodecOf({ outer: { ...outer, payload: "sparse", density: 1 / 4 } });
  const now = Object.fromEntries(
    [...Object.entries(payloadCodecs), ["sparse of density 1/4", denser] as const].map(([name, codec]) => {
      const payload = encoded(codec, values);
      const twice = [1, 3].map((weight) => ({ payload, weight, scale: 0.5 }));
      const result = atOnce(codec.average(twice));
      assert(result.ok && codec.name === name.split(" ")[0]);
      return [name, { version: codec.version, payload: hex(payload), result: hex(result.value) }];
    }),
  );
  assertEquals(now, frozen);
});

Deno.test("Byte bounds: said as one number where they are one", () => {
  assertEquals([boundsText(float32.payloadBytes(64)), boundsText(topHalf.payloadBytes(64))], ["256", "8 to 264"]);
});
