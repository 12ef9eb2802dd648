/**
 * What every payload codec costs: bytes, encoding, the orchestrator's check, the mean of several payloads and reading it.
 *
 *   deno run -A tests/lab/bench/peers/payload_bench.ts [--json]
 *
 * Speeds are in GB of values a CPU second (user and system time of the process, the best of several passes): 4 bytes
 * for every value that a payload stands for, kept or not, so a mean of 4 payloads of n values is 16 n bytes. `mean:
 * payload bytes` counts the bytes of the payloads themselves; `payloadBytes` and `resultBytes` are for each value.
 */

import process from "node:process";
import { atOnce } from "../../../../core/long_work.ts";
import type { PayloadCodec } from "../../../../core/update/payload/payload_codec.ts";
import { payloadCodecOf, payloadCodecs } from "../../../../core/update/payload/payload_codecs.ts";
import { noEmbeddings } from "../../../support/no_embeddings.ts";
import { gaussOf } from "../../../support/small_gauss.ts";

const values = 2 ** 21;
const payloads = 4;
const passes = 5;

/** The best of several passes. */
function cpuSecondsOf<T>(body: () => T): { seconds: number; result: T } {
  let best = Infinity;
  let result = body(); // warms up
  for (let pass = 0; pass < passes; pass++) {
    const before = process.cpuUsage();
    result = body();
    const { user, system } = process.cpuUsage(before);
    best = Math.min(best, (user + system) / 1e6);
  }
  return { seconds: best, result };
}

const slices = Array.from({ length: payloads }, (_, seed) => {
  const gauss = gaussOf(seed);
  return Float32Array.from({ length: values }, () => 1e-3 * gauss());
});

function measure(label: string, codec: PayloadCodec) {
  const encode = (slice: Float32Array) => {
    const residual = codec.keepsResidual ? new Float32Array(values) : null;
    return atOnce(codec.encode({ values: slice.slice(), residual, embeddings: noEmbeddings }));
  };
  const encoded = slices.map(encode);
  const inputs = encoded.map((payload, i) => ({ payload, weight: i + 1, scale: 1 }));
  const bytes = encoded.reduce((sum, payload) => sum + payload.byteLength, 0);
  const encoding = cpuSecondsOf(() => encode(slices[0]!));
  const check = cpuSecondsOf(() => atOnce(codec.inspect(encoded[0]!, values)));
  const mean = cpuSecondsOf(() => atOnce(codec.average(inputs)));
  if (!mean.result.ok) throw new Error(mean.result.fault.detail);
  const result = mean.result.value;
  const reading = cpuSecondsOf(() => atOnce(codec.decodeResult(result, values)));
  const speed = (seconds: number, of = 4 * values) => Number((of / seconds / 1e9).toFixed(2));
  return {
    codec: label,
    payloadBytes: Number((bytes / payloads / values).toFixed(4)),
    resultBytes: Number((result.byteLength / values).toFixed(4)),
    encode: speed(encoding.seconds),
    check: speed(check.seconds),
    mean: speed(mean.seconds, 4 * values * payloads),
    "mean: payload bytes": speed(mean.seconds, bytes),
    read: speed(reading.seconds),
  };
}

const outer = { learningRate: 1, momentum: 0, payload: "sparse" } as const;
const rows = [
  ...Object.values(payloadCodecs).map((codec) => measure(codec.name, codec)),
  measure("sparse 1/16", payloadCodecOf({ outer: { ...outer, density: 1 / 16 } })),
];
if (Deno.args.includes("--json")) console.log(JSON.stringify({ values, payloads, rows }));
else console.table(rows);
