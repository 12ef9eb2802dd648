/** The threads that compute merges for the orchestrator: the same bits as on its own thread, and what happens when one is lost. */

import { assert, assertEquals, assertRejects } from "@std/assert";
import { ArithmeticThreads, ThreadLost } from "../../../cli/orchestrator/hub/arithmetic/arithmetic_thread.ts";
import { plainArithmetic, type VectorArithmetic } from "../../../cli/orchestrator/hub/arithmetic/vector_calls.ts";
import type { RunConfig } from "../../../core/config/config.ts";
import { stageIndex } from "../../../core/ids.ts";
import { atOnce } from "../../../core/long_work.ts";
import { payloadCodecOf } from "../../../core/update/payload/payload_codecs.ts";
import { encodeChange } from "../../../core/update/shown_change.ts";
import { parameterTable } from "../../../core/model/spec.ts";
import { noEmbeddings } from "../../support/no_embeddings.ts";
import { World } from "../../lab/world/world.ts";
import { specsOf, tinyConfig } from "../../support/tiny_model.ts";

const stage = stageIndex(1);

function runOf(payload: "float32" | "int8" | "sparse"): { config: RunConfig; stages: ReturnType<typeof specsOf> } {
  const config = tinyConfig({ outer: { payload, learningRate: 0.7, momentum: 0.9 } });
  return { config, stages: specsOf(config) };
}

function vector(length: number, seed: number): Float32Array<ArrayBuffer> {
  return new Float32Array(length).map((_, i) => Math.sin(seed + 1.7 * i) / (1 + i % 7));
}

/** Every kind of call, of payloads in two slices and as views of a larger memory. */
async function answers(arithmetic: VectorArithmetic, run: ReturnType<typeof runOf>): Promise<unknown[]> {
  const { length } = parameterTable(run.stages[stage]!);
  const codec = payloadCodecOf(run.config);
  const half = length >> 1;
  const slices = [{ offset: 0, size: half }, { offset: half, size: length - half }];
  const payloads = [1, 2].map((seed) =>
    slices.map(({ offset, size }) => {
      const values = vector(length, seed).slice(offset, offset + size);
      const bytes = atOnce(
        codec.encode({
          values,
          residual: codec.keepsResidual ? new Float32Array(size) : null,
          embeddings: noEmbeddings,
        }),
      );
      const wide = new Uint8Array(bytes.length + 32);
      wide.set(bytes, 16);
      return wide.subarray(16, 16 + bytes.length);
    })
  );
  const found: unknown[] = [];
  for (const [inspection, payload] of payloads.entries()) {
    for (const [i, bytes] of payload.entries()) {
      await arithmetic.compute("inspect", { inspection, stage, sketchKey: 7, bytes, slice: slices[i]! });
    }
    found.push(await arithmetic.compute("inspected", { inspection }));
  }
  const inputs = payloads.map(([first], i) => ({ payload: first!, weight: i + 1, scale: 1 }));
  const mean = await arithmetic.compute("average", { inputs });
  assert(mean.ok);
  const [parameters, momentum] = [vector(length, 3).subarray(0, half), vector(length, 4).subarray(0, half)];
  const change = atOnce(encodeChange(vector(length, 5), vector(length, 6)));
  found.push(
    mean,
    await arithmetic.compute("outerSlice", { slice: mean.value, parameters, momentum }),
    await arithmetic.compute("outerSlice", { slice: new Uint8Array(3), parameters, momentum: null }),
    await arithmetic.compute("valuesAlone", { bytes: payloads[0]![0]!, size: half }),
    await arithmetic.compute("inspectChange", { stage, sketchKey: 9, change }),
    await arithmetic.compute("inspectChange", { stage, sketchKey: 9, change: new Uint8Array(5) }),
  );
  assertEquals(parameters.length, half, "vectors stay with the caller");
  return found;
}

for (const payload of ["float32", "int8", "sparse"] as const) {
  Deno.test(`Arithmetic threads: the same bits as on the orchestrator's own thread (${payload})`, async () => {
    const run = runOf(payload);
    const threads = new ArithmeticThreads({ ...run, threads: 2, warn: (text) => assert(false, text) });
    try {
      const plain = await answers(plainArithmetic(run), run);
      assertEquals(await Promise.all([answers(threads, run), answers(shifted(threads), run)]), [plain, plain]);
    } finally {
      threads.close();
    }
  });
}

/** Payloads with numbers of their own, while others are inspected too. */
const shifted = (arithmetic: VectorArithmetic): VectorArithmetic => ({
  compute: (type, call) =>
    arithmetic.compute(type, "inspection" in call ? { ...call, inspection: call.inspection + 100 } : call),
  close: () => {},
});

Deno.test("Arithmetic threads: when one is lost every open call ends, and this is said once", async () => {
  const warnings: string[] = [];
  const run = runOf("int8");
  const threads = new ArithmeticThreads({ ...run, threads: 1, warn: (text) => warnings.push(text) });
  const impossible = { inspection: 1, stage: stageIndex(99), sketchKey: 1, bytes: new Uint8Array(8) };
  const slice = { offset: 0, size: 2 };
  const calls = [1, 2].map(() => threads.compute("inspect", { ...impossible, slice }));
  for (const call of calls) await assertRejects(() => call, ThreadLost);
  await assertRejects(() => threads.compute("valuesAlone", { bytes: new Uint8Array(8), size: 2 }), ThreadLost);
  assertEquals(warnings.length, 1, warnings.join());
});

Deno.test("Arithmetic threads: a call that no message can carry ends alone", async () => {
  const threads = new ArithmeticThreads({ ...runOf("float32"), threads: 1, warn: (text) => assert(false, text) });
  try {
    const bytes = (() => {}) as unknown as Uint8Array; // as one of more than 4 GiB: it cannot be cloned
    await assertRejects(() => threads.compute("valuesAlone", { bytes, size: 2 }), ThreadLost);
    const values = await threads.compute("valuesAlone", { bytes: new Uint8Array(8), size: 2 });
    assertEquals(values, new Float32Array(2));
  } finally {
    threads.close();
  }
});

Deno.test("Arithmetic threads: a run whose threads are lost merges on the orchestrator's own", async () => {
  let calls = 0;
  const lost: VectorArithmetic = {
    compute: () => (calls += 1, Promise.reject(new ThreadLost("in this test"))),
    close: () => {},
  };
  const config = tinyConfig({
    train: { steps: 4, stepsPerRound: 2 },
    swarm: { replicas: 2, validators: 0 },
    pipeline: { stages: 1 },
    model: { layers: 1 },
  });
  const swarm = new World({ config, hub: { arithmetic: lost } });
  await swarm.startAll();
  const { finished } = await swarm.run();
  const merges = swarm.records.all.filter(({ type }) => type === "roundMerged" || type === "blamed");
  assertEquals([finished, merges.map(({ type }) => type)], [true, ["roundMerged", "roundMerged"]]);
  assertEquals(calls, 2, "of both payloads at once, and none later");
});
