/**
 * The kernels on a second driver: a few stages of the suite, and how far its results are from this process's driver. All of the
 * suite runs on it in tests/e2e/second_driver_test.ts.
 */

import { assert, assertEquals, assertLess, assertMatch } from "@std/assert";
import { codecNames } from "../../core/codec/codec_names.ts";
import { codecs } from "../../core/codec/codecs.ts";
import { noGpuReason } from "../support/gpu_adapter.ts";
import { noSecondDriver, withSecondDriver } from "../support/second_driver.ts";
import { testWhere } from "../support/test_where.ts";
import { differencesOf, type DriverSample, driverSample } from "./driver_sample.ts";

const suite = ["compute_webgpu_test.ts", "compute_webgpu_hardware_test.ts", "wires_webgpu_test.ts"].map((name) =>
  `tests/conformance/${name}`
);
const quick = [
  "^StageCompute webgpu(, kernels for real GPUs)?: body, codec iota, 1 layer that receives and sends$",
  "^StageCompute webgpu: (tail, codec none, 4:1 heads, B 3$|twenty training steps)",
  "^Wires",
];

testWhere(noSecondDriver, "Second driver: a few stages, training and all wires pass the suite", async () => {
  const words = ["test", "--allow-all", "--no-check", "--quiet", "--filter", `/${quick.join("|")}/`];
  const { code, stdout, stderr } = await withSecondDriver([...words, ...suite]);
  assertEquals(code, 0, stdout + stderr);
  const coded = codecNames.filter((codec) => codecs[codec].gradientFormats !== undefined);
  const wires = 2 * codecNames.length + 4 * coded.length; // forward and gradient, and gradients in 4 to 7 bits
  assertMatch(stdout, new RegExp(`ok \\| ${4 + wires} passed`));
  assert(!stdout.includes("skipped"), stdout);
});

/** The relative L2 by kind, about ten times what llvmpipe and SwiftShader differ by (tests/lab/LOG.md, 2026-11-22). */
const most: Readonly<Record<string, number>> = {
  "loss": 1e-6,
  "wire": 2 ** -9, // one rounding of bfloat16
  "gradient wire": 2 ** -9,
  "gradients": 1e-5,
  "parameters after a step": 5e-5,
};

const missing = noSecondDriver ?? noGpuReason;

testWhere(missing, "Second driver: its wires, gradients and steps are close to the first's", async () => {
  const program = "tests/conformance/driver_sample.ts";
  const { code, stdout, stderr } = await withSecondDriver(["run", "--allow-all", "--no-check", program]);
  assertEquals(code, 0, stderr);
  const second: DriverSample = JSON.parse(stdout);
  assertMatch(second.adapter, /SwiftShader/);
  const first = await driverSample();
  assert(first.adapter !== second.adapter, first.adapter);
  const differences = differencesOf(first, second);
  assertEquals(differences.map(({ kind }) => kind).sort(), Object.keys(most).sort());
  for (const { kind, relativeL2 } of differences) assertLess(relativeL2, most[kind]!, kind);
});
