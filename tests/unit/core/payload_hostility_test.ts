/** Payload codecs against strangers' bytes: whatever they are, an answer, and no memory that a number in them asks for. */

import { assert, assertEquals } from "@std/assert";
import { atOnce } from "../../../core/long_work.ts";
import type { PayloadCodec } from "../../../core/update/payload/payload_codec.ts";
import { payloadCodecs } from "../../../core/update/payload/payload_codecs.ts";
import { noEmbeddings } from "../../support/no_embeddings.ts";
import { prngOf } from "../../support/small_prng.ts";
import { cases } from "../../support/whole.ts";

const mutations = cases(100_000); // of all codecs together

const arrays = ["Uint8Array", "Uint16Array", "Uint32Array", "Float32Array", "Float64Array"] as const;

/** The most bytes that one array was made with by its length while `body` runs. */
function largestArray(body: () => void): number {
  const kept = arrays.map((name) => globalThis[name]);
  let largest = 0;
  for (const name of arrays) {
    const Array = globalThis[name];
    const counting = new Proxy(Array, {
      construct(target, args, newTarget) {
        const [length] = args;
        if (typeof length === "number") largest = Math.max(largest, length * target.BYTES_PER_ELEMENT);
        return Reflect.construct(target, args, newTarget) as object;
      },
    });
    Object.assign(globalThis, { [name]: counting });
  }
  try {
    body();
  } finally {
    arrays.forEach((name, i) => Object.assign(globalThis, { [name]: kept[i] }));
  }
  return largest;
}

const fixedBytes = 2 ** 18; // the largest table of a codec, whatever the bytes

function payloadOf(codec: PayloadCodec, { seed, values }: { seed: number; values: number }): Uint8Array {
  const draw = prngOf(seed);
  const slice = Float32Array.from({ length: values }, () => (draw(2 ** 20) / 2 ** 20 - 0.5) * 1e-3);
  const residual = codec.keepsResidual ? new Float32Array(values) : null;
  return atOnce(codec.encode({ values: slice, residual, embeddings: { ranges: [{ start: 0, end: 64 }], share: 0 } }));
}

/** Bits flipped, bytes set, cut short, prolonged, or another payload's end. */
function mutated(bytes: Uint8Array, draw: (below: number) => number, other: Uint8Array): Uint8Array {
  let changed = bytes.slice();
  switch (draw(6)) {
    case 0:
      changed = changed.slice(0, draw(changed.length + 1));
      break;
    case 1:
      changed = new Uint8Array([...changed, ...new Uint8Array(1 + draw(8)).fill(draw(256))]);
      break;
    case 2:
      changed.set(other.subarray(0, Math.min(changed.length, draw(other.length))));
      break;
    case 3:
      changed.set([255, 255, 255, draw(256)], 0);
      break;
  }
  for (let i = draw(5); i > 0 && changed.length > 0; i--) {
    const at = draw(2) === 0 ? draw(changed.length) : draw(Math.min(changed.length, 16)); // heads more often
    changed[at] = draw(2) === 0 ? draw(256) : changed[at]! ^ (1 << draw(8));
  }
  return changed;
}

for (const codec of Object.values(payloadCodecs)) {
  const share = mutations / Object.keys(payloadCodecs).length;
  Deno.test(`Payload codec ${codec.name}: ${share} mutated payloads and results are answered within bounded memory`, () => {
    const draw = prngOf(12);
    const values = codec.keepsResidual ? 4096 + 64 : 640; // a sparse payload of two chunks
    const payload = payloadOf(codec, { seed: 1, values });
    const other = payloadOf(codec, { seed: 2, values });
    const mean = atOnce(codec.average([payload, other].map((each) => ({ payload: each, weight: 1, scale: 1 }))));
    assert(mean.ok);
    const answers = { refused: 0, read: 0 };
    const largest = largestArray(() => {
      for (let round = 0; round < share; round++) {
        if (round % 2 === 0) {
          const bytes = mutated(mean.value, draw, other);
          const decoded = atOnce(codec.decodeResult(bytes, values));
          answers[decoded === null ? "refused" : "read"] += 1;
          if (codec.name !== "float32" && decoded !== null) assert(decoded.every(Number.isFinite));
          continue;
        }
        const bytes = mutated(payload, draw, other);
        const stats = atOnce(codec.inspect(bytes, values));
        answers[stats.isFinite ? "read" : "refused"] += 1;
        if (round % 8 !== 1) continue;
        const inputs = [payload, bytes].map((each) => ({ payload: each, weight: 1, scale: 1 }));
        const joined = atOnce(codec.average(inputs));
        assertEquals(joined.ok, stats.isFinite, "averaged what the check refuses, or the reverse");
        if (!joined.ok) assertEquals(joined.fault.code, "badNumbers");
      }
    });
    assert(answers.refused > share / 20 && answers.read > share / 100, JSON.stringify(answers));
    assert(largest <= fixedBytes, `${largest} bytes at once`);
  });
}

Deno.test("Payload codec int8: a scale that its block's codes do not need is refused, whatever an encoder writes is read", () => {
  const { int8 } = payloadCodecs;
  const inspected = (bytes: Uint8Array, values: number) => atOnce(int8.inspect(bytes, values)).isFinite;
  const draw = prngOf(4);
  for (let power = -149; power < 120; power++) {
    const slice = Float32Array.from({ length: 200 }, () => (draw(2001) - 1000) / 1000 * 2 ** power);
    const bytes = atOnce(int8.encode({ values: slice, residual: null, embeddings: noEmbeddings }));
    assert(inspected(bytes, 200), `values up to 2^${power}`);
    if (power < -110) continue; // values of no weight
    const level = bytes[0]! | (bytes[1]! << 8);
    const withBlock = (scale: number, code: (i: number) => number) => {
      const changed = bytes.slice();
      changed.set([scale, scale >>> 8], 0);
      for (let i = 0; i < 64; i++) changed[2 + i] = code(i);
      return changed;
    };
    assert(!inspected(withBlock(level, () => 0), 200), "no codes");
    assert(!inspected(withBlock(level, (i) => i % 2 === 0 ? 63 : -63), 200), "codes too small");
    assert(inspected(withBlock(level, (i) => i === 9 ? -64 : 0), 200), "one code of half the range");
    assert(inspected(withBlock(0, () => 0), 200), "a block of zeros");
  }
});
