/**
 * The kernels on a second driver: their whole conformance suite, and how far its results are from this process's driver. About
 * seventy seconds of processor time.
 */

import { assert, assertEquals, assertLess, assertMatch } from "@std/assert";
import { differencesOf, type DriverSample, driverSample } from "../support/driver_sample.ts";
import { noGpuReason } from "../support/gpu_adapter.ts";
import { noSecondDriver, withSecondDriver } from "../support/second_driver.ts";
import { testWhere } from "../support/test_where.ts";

const suite = [
  "compute_webgpu",
  "compute_webgpu_hardware",
  "compute_webgpu_parts",
  "wires_webgpu",
  "dummy_codec",
  "device_refusals",
]
  .map((name) => `tests/webgpu/${name}_test.ts`);

testWhere(noSecondDriver, "Second driver: it passes all of the kernels' conformance suite", async () => {
  const words = ["test", "--allow-all", "--no-check", "--quiet", ...suite];
  const { code, stdout, stderr } = await withSecondDriver(words, { SEEDS: "1" });
  assertEquals(code, 0, stdout + stderr);
  assertMatch(stdout, /ok \| \d+ passed/);
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
  const program = "tests/support/driver_sample.ts";
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
