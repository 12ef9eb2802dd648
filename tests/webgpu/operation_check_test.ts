/** A device compared with the processor operation by operation: an honest one agrees, a wrong kernel is named with its rows. */

import { assert, assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import { checkedStages, judgeNumbers, knownProcessorHash } from "../../cli/tools/doctor/device_checks.ts";
import { resolveConfig } from "../../core/settings/parse.ts";
import { sizeNames } from "../../core/config/size.ts";
import { splitLayers } from "../../core/model/stages.ts";
import { parameterTable, type StageSpec, stageSpecs } from "../../core/model/spec.ts";
import { CpuStageDevice } from "../../gpu/cpu/cpu_stage.ts";
import { CpuMemory } from "../../gpu/cpu/layout/memory.ts";
import type { Dispatch, StageOps } from "../../gpu/stage_ops.ts";
import { checkOperations, tracedTask, valueTolerance } from "../../gpu/trace/operation_check.ts";
import { checkedStage } from "../../gpu/trace/checked_stage.ts";
import { outputs } from "../../gpu/trace/traced_device.ts";
import { openComputeWorker } from "../../gpu/worker_client.ts";
import { gpuTest } from "../support/gpu_adapter.ts";

const processor = () => new CpuStageDevice(new CpuMemory({}), { threads: 1 });

/** The processor, but `spoil` gets at what SwiGLU has written. */
function brokenSwiglu(spoil: (activated: Float32Array, width: number) => void): CpuStageDevice {
  const memory = new CpuMemory({});
  const device = new CpuStageDevice(memory, { threads: 1 });
  const { ops } = device;
  const swiglu: StageOps["swiglu"] = (sizes, tensors) => {
    const honest = ops.swiglu(sizes, tensors) as Dispatch & { run: () => void };
    const run = () => {
      honest.run();
      spoil(memory.floats(tensors.activated), sizes.width);
    };
    return { ...honest, run } as Dispatch;
  };
  const broken = new Proxy(ops, {
    get: (target, name) => {
      if (name === "swiglu") return swiglu;
      const value = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  return Object.defineProperty(device, "ops", { value: broken });
}

const manyRows = (): readonly StageSpec[] => checkedStages("tiny");

Deno.test("Operation check: the processor computes the known bits, which tell every machine whether it is right", async () => {
  const found = await checkOperations(checkedStages(), { device: null, processor });
  assertEquals([found.processorHash, found.agrees, found.worst.difference], [knownProcessorHash, true, 0]);
  assertEquals(judgeNumbers(found, { isProcessor: true }).level, "good");
  const other = { ...found, processorHash: "00".repeat(32) };
  assertEquals(judgeNumbers(other, { isProcessor: true }).level, "wrong");
});

Deno.test("Operation check: each kind of operation of a stage that trains is in the trace, with all rows of what it writes", async () => {
  const seen = new Set<string>();
  for (const codec of ["q5block", "iota"] as const) {
    for (const spec of checkedStages("toy", codec)) {
      const traced = await tracedTask(processor(), spec);
      for (const { operation, rows, rowBytes, content, memory } of traced) {
        seen.add(operation);
        assert(content.length > (rows - 1) * rowBytes && content.length <= rows * rowBytes, `${operation} ${memory}`);
        assertNotEquals(memory, "memory without a name");
      }
    }
  }
  const ofTexts = ["attendCache", "cacheTokens"]; // no stage that trains has them (tests/conformance/cache_suite.ts)
  assertEquals([...seen, ...ofTexts].sort(), Object.keys(outputs).sort());
});

Deno.test("Operation check: a wrong kernel is named, with the rows that are wrong and both hashes of them", async () => {
  const specs = manyRows();
  const device = () =>
    brokenSwiglu((activated, width) => {
      for (let i = 70 * width; i < 71 * width; i++) activated[i]! *= 1.5;
    });
  const found = await checkOperations(specs, { device, processor });
  const { operation, memory, firstRow, lastRow, difference, rowsHash, processorRowsHash } = found.worst;
  assertEquals([found.agrees, operation, firstRow, lastRow], [false, "swiglu", 64, 127]);
  assertMatch(memory, /activated|swiglu|hidden/);
  assert(difference > valueTolerance && difference < 0.5, `${difference}`);
  assertNotEquals(rowsHash, processorRowsHash);
  const { level, text } = judgeNumbers(
    { ...found, processorHash: knownProcessorHash },
    { isProcessor: false },
  );
  assertEquals(level, "wrong");
  assertMatch(text, /swiglu of stage 0 .* most in rows 64 to 127; it would fail audits$/);
});

Deno.test("Operation check: a kernel that makes a NaN is wrong, not equal", async () => {
  const device = () => brokenSwiglu((activated) => activated[5] = NaN);
  const { agrees, worst } = await checkOperations(checkedStages(), { device, processor });
  assertEquals([agrees, worst.operation, worst.difference], [false, "swiglu", NaN]);
});

Deno.test("Operation check: the last bits may differ, a fifth of a percent may not", async () => {
  const scaled = (factor: number) => () =>
    brokenSwiglu((activated) => activated.forEach((value, i) => activated[i] = value * factor));
  const near = await checkOperations(checkedStages(), { device: scaled(1 + 1e-6), processor });
  const far = await checkOperations(checkedStages(), { device: scaled(1 + 2e-3), processor });
  assertEquals([near.agrees, far.agrees], [true, false]);
});

Deno.test("Checked stage: a small one is checked whole but for equal layers, a large one at its own widths in seconds", () => {
  for (const size of sizeNames) {
    const resolved = resolveConfig({ size });
    assert(resolved.ok);
    const { config } = resolved;
    for (const spec of stageSpecs(config, splitLayers(config))) {
      const checked = checkedStage(spec);
      const { width, ffnWidth, heads, kvHeads } = spec.model;
      assertEquals({ ...checked.model, width, ffnWidth, heads, kvHeads }, checked.model);
      assertEquals([checked.wireIn, checked.wireOut, checked.layerCount], [spec.wireIn, spec.wireOut, 1]);
      const floats = parameterTable(checked).length;
      const tokens = checked.sequences * checked.model.contextLength;
      assert(floats < 2 ** 29 && tokens >= 64 || size === "toy", `${size}: ${floats} values, ${tokens} tokens`);
      assert(tokens === 64 || 6 * floats * tokens <= 2e10, `${size}: ${tokens} tokens`);
      if (size !== "tiny") continue;
      assertEquals([checked.sequences, checked.model], [spec.sequences, spec.model]);
    }
  }
});

gpuTest("Operation check: a software driver agrees with the processor in every operation", async () => {
  const worker = await openComputeWorker({ device: "software" });
  try {
    const found = await worker.checkOperations(checkedStages());
    assert(found !== null);
    assertEquals([found.agrees, found.processorHash], [true, knownProcessorHash]);
    assert(found.worst.difference > 0 && found.worst.difference < 1e-5, `${found.worst.difference}`);
  } finally {
    worker.close();
  }
});
