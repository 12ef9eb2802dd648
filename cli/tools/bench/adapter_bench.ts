/**
 * `iota bench adapter`: a device's limits and costs, and how long a stage's kernels take to compile, cold and warm.
 *
 * Cold and warm are two processes; the second finds the first one's shaders in a temporary folder. Drivers that keep
 * shaders elsewhere (Metal, DX12) may be warm at once.
 */

import { resolveConfig } from "../../../core/settings/parse.ts";
import { type StageSpec, stageSpecs } from "../../../core/model/spec.ts";
import type { DeviceFacts } from "../../../gpu/webgpu/device.ts";
import type { CommandContext } from "../../terminal/command.ts";
import { deviceText, openDevice, sameDevice } from "../../device/open_device.ts";
import { selfCommand } from "../../program/self.ts";

const compiledSize = "tiny";
const usefulFeatures = ["shader-f16", "subgroups", "timestamp-query"];

/** Where Mesa's and NVIDIA's drivers keep compiled shaders. */
const shaderFolders = ["MESA_SHADER_CACHE_DIR", "MESA_GLSL_CACHE_DIR", "__GL_SHADER_DISK_CACHE_PATH"];

export async function runAdapterBench(context: CommandContext): Promise<number> {
  const { output, options } = context;
  const signal = context.interruption();
  const worker = await openDevice(options.text("device"), { threads: 1 });
  output.line(`Measures ${deviceText(worker)}`);
  try {
    const { device, name: adapter, isSoftware } = worker.adapter;
    const facts = await worker.inspect();
    const speed = await worker.measureAdapter(2000 * (options.number("seconds") ?? 3));
    const { multiplyAdds, copy, upload, readBack, dispatchMicroseconds, roundTripMs } = speed;
    const [compileColdMs, compileWarmMs] = await compileTimes(sameDevice(worker), signal);
    output.summary({
      ...{ device, adapter, isSoftware },
      ...limitsOf(facts),
      gflopsPerSecond: multiplyAdds.perSecond / 1e9,
      gflopsPerCpuSecond: multiplyAdds.perCpuSecond / 1e9,
      copyGigabytesPerSecond: copy.perSecond / 1e9,
      copyGigabytesPerCpuSecond: copy.perCpuSecond / 1e9,
      uploadGigabytesPerSecond: upload.perSecond / 1e9,
      readBackGigabytesPerSecond: readBack.perSecond / 1e9,
      ...{ dispatchMicroseconds, roundTripMs, compileColdMs, compileWarmMs },
    });
  } finally {
    await worker.finish(); // never terminated just before the exit: see its contract
  }
  return 0;
}

function limitsOf(facts: DeviceFacts | null) {
  if (facts === null) return {};
  const { limits, features } = facts;
  return {
    largestBufferBytes: limits.maxBufferSize,
    largestBindingBytes: limits.maxStorageBufferBindingSize,
    workgroupMemoryBytes: limits.maxComputeWorkgroupStorageSize,
    workgroupInvocations: limits.maxComputeInvocationsPerWorkgroup,
    workgroupsPerDimension: limits.maxComputeWorkgroupsPerDimension,
    features: usefulFeatures.filter((name) => features.includes(name)),
  };
}

async function compileTimes(device: string, signal: AbortSignal): Promise<[coldMs: number, warmMs: number]> {
  const folder = await Deno.makeTempDir({ prefix: "iota-bench-" });
  try {
    const env = Object.fromEntries(shaderFolders.map((name) => [name, folder]));
    return [await compileOnce(device, { env, signal }), await compileOnce(device, { env, signal })];
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function compileOnce(
  device: string,
  { env, signal }: { env: Record<string, string>; signal: AbortSignal },
): Promise<number> {
  const self = selfCommand();
  const args = [...self.args, "bench", "compile", device];
  const process = new Deno.Command(self.command, { args, env: { ...self.env, ...env }, signal });
  const { code, stdout, stderr } = await process.output();
  signal.throwIfAborted();
  const text = new TextDecoder();
  if (code === 0) return JSON.parse(text.decode(stdout)).openMs;
  throw new Error(`A process that compiles a stage ended with code ${code}: ${text.decode(stderr)}`);
}

/** Internal: `iota bench compile DEVICE`. */
export async function runCompile(device: string): Promise<number> {
  const resolved = resolveConfig({
    size: compiledSize,
    overrides: { "pipeline.stages": 1, "pipeline.codec": "none" },
  });
  if (!resolved.ok) throw new Error(`size ${compiledSize} must be a whole model in one stage`);
  const { config } = resolved;
  const [spec] = stageSpecs(config, [config.model.layers]) as [StageSpec];
  const worker = await openDevice(device, { threads: 1 });
  const startedMs = performance.now();
  await worker.openStage(spec);
  console.log(JSON.stringify({ openMs: performance.now() - startedMs }));
  await worker.finish();
  return 0;
}
