/** A merge of many payloads ends in the same parameters, whatever the order of payloads and slices and however work is interleaved. */

import { assert, assertEquals } from "@std/assert";
import type { LongWork } from "../../../core/long_work.ts";
import { outerStep } from "../../../core/update/outer.ts";
import type { PayloadCodec } from "../../../core/update/payload/payload_codec.ts";
import { payloadCodecs } from "../../../core/update/payload/payload_codecs.ts";
import { noEmbeddings } from "../../support/no_embeddings.ts";
import { prngOf } from "../../support/small_prng.ts";
import { isWhole } from "../../support/whole.ts";

const payloads = isWhole ? 20 : 5;
const values = 2 ** 19 + 2 * 4096; // the first slice is more than one unit of work
const cuts = [0, 2 ** 19 + 640, 2 ** 19 + 4096, values];

type Draw = (below: number) => number;

function shuffled<T>(items: readonly T[], draw: Draw): T[] {
  const order = [...items];
  for (let i = order.length - 1; i > 0; i--) {
    const other = draw(i + 1);
    [order[i], order[other]] = [order[other]!, order[i]!];
  }
  return order;
}

/** Runs them all to their ends, a turn of any of them after a turn of any other, as one thread or many may. */
function interleaved<T>(works: readonly LongWork<T>[], draw: Draw): T[] {
  const results = new Map<LongWork<T>, T>();
  const open = [...works];
  while (open.length > 0) {
    const at = draw(open.length);
    const step = open[at]!.next();
    if (step.done !== true) continue;
    results.set(open[at]!, step.value);
    open.splice(at, 1);
  }
  return works.map((work) => results.get(work)!);
}

const learned = (seed: number): Float32Array => {
  const draw = prngOf(seed);
  return Float32Array.from({ length: values }, () => (draw(2 ** 24) / 2 ** 24 - 0.5) * 10 ** (draw(4) - 6));
};

const slicesOf = (vector: Float32Array): Float32Array[] => cuts.slice(1).map((end, i) => vector.slice(cuts[i], end));

/** The hash of the stage after the outer step. */
async function merged(
  codec: PayloadCodec,
  { encoded, draw }: { encoded: readonly Uint8Array[][]; draw: Draw },
): Promise<string> {
  const slices = shuffled([...cuts.keys()].slice(1).map((i) => i - 1), draw);
  const works = slices.map((slice) =>
    codec.average(
      shuffled([...encoded.keys()], draw).map((i) => ({
        ...{ payload: encoded[i]![slice]!, weight: 1 + i / 7, scale: 1 / (1 + i % 3) },
      })),
    )
  );
  const parameters = new Float32Array(values);
  for (const [i, mean] of interleaved(works, draw).entries()) {
    assert(mean.ok);
    const [slice, start] = [slices[i]!, cuts[slices[i]!]!];
    const [average] = interleaved([codec.decodeResult(mean.value, cuts[slice + 1]! - start)], draw);
    assert(average instanceof Float32Array);
    const vectors = { parameters: new Float32Array(average.length), momentum: new Float32Array(average.length) };
    parameters.set(outerStep({ ...vectors, average, learningRate: 0.7, momentumFactor: 0.9 }).parameters, start);
  }
  return new Uint8Array(await crypto.subtle.digest("SHA-256", parameters)).toHex();
}

for (const codec of Object.values(payloadCodecs).filter(({ name }) => name !== "float32")) { // it sums in the given order
  Deno.test(`Merge with ${codec.name}: ${payloads} payloads in any order end in the same parameters`, async () => {
    const draw = prngOf(3);
    const works = Array.from(
      { length: payloads },
      (_, seed) =>
        slicesOf(learned(seed)).map((part) =>
          codec.encode({
            values: part,
            residual: codec.keepsResidual ? new Float32Array(part.length) : null,
            embeddings: noEmbeddings,
          })
        ),
    );
    const flat = interleaved(works.flat(), draw);
    const encoded = works.map((ofPayload, i) => ofPayload.map((_, slice) => flat[i * ofPayload.length + slice]!));
    const first = await merged(codec, { encoded, draw });
    for (let round = 0; round < 3; round++) assertEquals(await merged(codec, { encoded, draw }), first);
    const without = await merged(codec, { encoded: encoded.slice(1), draw });
    assert(without !== first, "every payload counts");
  });
}
