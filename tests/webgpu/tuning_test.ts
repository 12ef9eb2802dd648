/** The search for the fastest kernels, and what may be used of what it found. */

import { assert, assertEquals } from "@std/assert";
import { openProducts } from "../../gpu/webgpu/tuning/gemm_products.ts";
import { choiceOf, fastestExact, tuneGemm } from "../../gpu/webgpu/tuning/tune_gemm.ts";
import { tunedKernels } from "../../gpu/webgpu/tuning/tuned.ts";
import {
  choiceWith,
  choiceWithin,
  gemmCandidates,
  gemmKinds,
  type GemmSettings,
  hardwareGemm,
  sameForAll,
} from "../../gpu/webgpu/generate/gemm_settings.ts";
import { kernelsFor } from "../../gpu/webgpu/ops.ts";
import { gpuTest, slowGpuTest } from "../support/gpu_adapter.ts";
import { isWhole } from "../support/whole.ts";

interface Fake {
  readonly name: string;
  readonly ms: readonly number[]; // at each place
  readonly isWrong?: boolean;
}

async function fastestOf(fakes: readonly Fake[]) {
  const asked: string[] = [];
  const found = await fastestExact(fakes, {
    places: 2,
    milliseconds: ({ name, ms }, place) => {
      asked.push(`${name}${place}`);
      return Promise.resolve(ms[place]!);
    },
    isExact: ({ isWrong = false }) => Promise.resolve(!isWrong),
  });
  return { ...found, best: found.best.name, asked };
}

Deno.test("Tuning: the fastest over all shapes wins, and what is hopeless for the first is not measured further", async () => {
  const found = await fastestOf([
    { name: "standard", ms: [10, 10] },
    { name: "a", ms: [6, 13] },
    { name: "b", ms: [9, 6] },
    { name: "c", ms: [13, 1] },
  ]);
  assertEquals(found, {
    ...{ best: "b", defaultMs: 20, bestMs: 15, tried: 4, wrong: 0 },
    asked: ["standard0", "standard1", "a0", "a1", "b0", "b1", "c0"],
  });
});

Deno.test("Tuning: a faster setting with other results never wins, and is counted", async () => {
  const right = { name: "right", ms: [8, 8] };
  const wrong = { name: "wrong", ms: [5, 5], isWrong: true };
  const standard = { name: "standard", ms: [10, 10] };
  const { best, wrong: count, bestMs } = await fastestOf([standard, wrong, right]);
  assertEquals([best, count, bestMs], ["right", 1, 16]);
  assertEquals((await fastestOf([standard, wrong])).best, "standard");
});

Deno.test("Tuning: the default stays where another setting is faster by less than runs differ", async () => {
  assertEquals((await fastestOf([{ name: "standard", ms: [10, 10] }, { name: "a", ms: [9.9, 9.8] }])).best, "standard");
});

const least = { maxComputeInvocationsPerWorkgroup: 256, maxComputeWorkgroupStorageSize: 16_384 }; // of every adapter
const limits = { ...least, maxComputeWorkgroupStorageSize: 32_768 };

Deno.test("Tuning: only settings within an adapter's limits are candidates, the default first", () => {
  for (const kind of gemmKinds) {
    const all = gemmCandidates(kind, { isSoftware: false, limits });
    assertEquals(all[0], hardwareGemm[kind][0]);
    assertEquals(new Set(all.map((each) => JSON.stringify(Object.entries(each).sort()))).size, all.length);
    const small = gemmCandidates(kind, {
      isSoftware: false,
      limits: { ...limits, maxComputeInvocationsPerWorkgroup: 64 },
    });
    assert(small.length > 0 && small.length < all.length);
    const [, second] = hardwareGemm[kind];
    assertEquals(gemmCandidates(kind, { isSoftware: false, limits: least })[0], second);
    assertEquals(choiceWithin(hardwareGemm, least)[kind], hardwareGemm[kind].slice(1));
  }
});

Deno.test("Tuning: what is fastest for products that fill a device leaves smaller ones their smaller tiles", () => {
  const [middle, small] = hardwareGemm.forward.slice(-2) as [GemmSettings, GemmSettings];
  const best = { forward: middle, inputGradient: small, weightGradient: hardwareGemm.weightGradient[0]! };
  const choice = choiceWith(best, { isSoftware: false });
  assertEquals(choice.forward, [middle, small]);
  assertEquals(choice.inputGradient, [small]);
  assertEquals(choice.weightGradient, [best.weightGradient, middle, small]);
});

gpuTest("Tuning: what was kept is used on its adapter, unless it exceeds the adapter's limits", async ({ gpu }) => {
  await Promise.resolve();
  const { name } = gpu.adapter;
  const gemm = sameForAll({ family: "direct", lanes: 8, rows: 4, columnVectors: 1 });
  const standard = kernelsFor(gpu);
  assertEquals(tunedKernels(gpu, { [name]: gemm }), { ...standard, gemm });
  assertEquals(tunedKernels(gpu, { other: gemm }), standard);
  const huge: GemmSettings = { family: "direct", lanes: 65_536, rows: 4, columnVectors: 1 };
  assertEquals(tunedKernels(gpu, { [name]: { ...gemm, inputGradient: [huge] } }), standard);
  assertEquals(tunedKernels(gpu, { [name]: { ...gemm, inputGradient: [] } }), standard);
});

gpuTest("Tuning: tiles of other sizes have the bits of the plain product", async ({ gpu }) => {
  const products = openProducts(gpu, { rows: 84, inWidth: 76, outWidth: 132 });
  const settings: GemmSettings = { family: "shared", lanesX: 16, lanesY: 8, depth: 16, rows: 8, columnVectors: 2 };
  const kinds = isWhole ? gemmKinds : gemmKinds.slice(0, 1);
  for (const kind of kinds) assert(await products.isExact({ kind, settings }), kind);
  products.close();
});

slowGpuTest("Tuning: a search ends with a setting for each product, and says how long it takes", async ({ gpu }) => {
  const tuning = await tuneGemm(gpu, { shapes: [{ rows: 16, inWidth: 32, outWidth: 16 }] });
  const choice = choiceOf(tuning, gpu.adapter);
  for (const { kind, best } of tuning.products) assertEquals(choice[kind][0], best);
  for (const { defaultMs, bestMs, wrong } of tuning.products) {
    assert(bestMs > 0 && bestMs <= defaultMs);
    assertEquals(wrong, 0);
  }
});
