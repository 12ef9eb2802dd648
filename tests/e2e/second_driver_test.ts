/** The whole conformance suite of the kernels on a second driver: about seventy seconds of processor time. */

import { assert, assertEquals, assertMatch } from "@std/assert";
import { noSecondDriver, withSecondDriver } from "../support/second_driver.ts";
import { testWhere } from "../support/test_where.ts";

const suite = [
  ...["compute_webgpu", "compute_webgpu_hardware", "compute_webgpu_parts", "wires_webgpu", "dummy_codec"].map((name) =>
    `tests/conformance/${name}_test.ts`
  ),
  "tests/unit/device/refusals_test.ts",
];

testWhere(noSecondDriver, "Second driver: it passes all of the kernels' conformance suite", async () => {
  const words = ["test", "--allow-all", "--no-check", "--quiet", ...suite];
  const { code, stdout, stderr } = await withSecondDriver(words);
  assertEquals(code, 0, stdout + stderr);
  assertMatch(stdout, /ok \| \d+ passed/);
  assert(!stdout.includes("skipped"), stdout);
});
