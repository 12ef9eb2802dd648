/** A device that is lost: stages go on with the same bits, whatever was going on, or the node ends with a sentence. */

import { assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import { present } from "../../core/assert.ts";
import { LastingDevice, type LastingDeviceOptions, LostDeviceError } from "../../cli/device/lasting_device.ts";
import { UnusableDeviceError } from "../../cli/device/device_check.ts";
import { StageLostError } from "../../cli/device/lasting_stage.ts";
import type { HostedStage } from "../../cli/device/compute_host.ts";
import type { StageCompute } from "../../gpu/compute.ts";
import { createCpuStage } from "../../gpu/cpu/cpu_stage.ts";
import { type ComputeWorker, openComputeWorker } from "../../gpu/worker_client.ts";
import { gpuTest } from "../support/gpu_adapter.ts";
import { losingWorker, steadyWorker } from "../support/losing/losing_host.ts";
import { withLosingWorkers } from "../support/losing/losing_workers.ts";
import { ManualTimers } from "../support/net/manual_timers.ts";
import { suiteMicrobatch } from "../conformance/compute_world.ts";
import { parametersOf, specAt, specsOf, tinyConfig } from "../support/tiny_model.ts";
import { isWhole } from "../support/whole.ts";

const spec = specAt(specsOf(tinyConfig({ model: { layers: 2 }, pipeline: { stages: 2, codec: "iota" } })), 0);
const hyper = { learningRate: 1e-3, gradientScale: 1, beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay: 0.1 };

/** A head's input and the gradient that comes back. */
function microbatchOf(index: number) {
  const { input, gradient } = suiteMicrobatch(spec, index);
  return { input, gradient: present(gradient, "it is not the tail") };
}

/** Two steps of two tasks, then the state that a merge reads; what each call returned. */
async function twoSteps(stage: HostedStage): Promise<unknown[]> {
  const results: unknown[] = [];
  const parameters = parametersOf(spec);
  stage.begin?.((fresh) => fresh.loadParameters(parameters));
  await stage.loadParameters(parameters);
  for (const step of [0, 1]) {
    for (const index of [2 * step, 2 * step + 1]) {
      const { input, gradient } = microbatchOf(index);
      results.push(await stage.forward(input, { name: `${index}` }));
      results.push(await stage.backward(input, gradient, { name: `${index}` }));
    }
    results.push(await stage.gradientSquareSum());
    await stage.step(hyper);
  }
  return [...results, await stage.readParameters(), await stage.readOptimizer()];
}

interface Lasting {
  readonly device: LastingDevice;
  readonly losses: number[];
  readonly rebuilt: number[]; // calls repeated
}

/** A pause is over at once; nothing is late. */
const withoutDeadlines: LastingDeviceOptions["timers"] = {
  after: (ms, callback) => (ms < 10_000 && queueMicrotask(callback), () => {}),
  steadyMs: () => 0,
};

/** The first worker is one of these, and each later one the next; then there is none. */
function lastingDevice(
  workers: readonly (ComputeWorker | Error)[],
  options: Partial<LastingDeviceOptions> = {},
): Lasting {
  const [first, ...later] = workers;
  const losses: number[] = [];
  const rebuilt: number[] = [];
  const device = new LastingDevice(first as ComputeWorker, {
    reopen: () => {
      const worker = later.shift() ?? new Error("Cannot open a GPU");
      return worker instanceof Error ? Promise.reject(worker) : Promise.resolve(worker);
    },
    timers: withoutDeadlines,
    onLoss: (loss) => losses.push(loss.losses),
    onRebuilt: ({ calls }) => rebuilt.push(calls),
    ...options,
  });
  return { device, losses, rebuilt };
}

// The real devices come first: a process that ends right after its driver was torn down may crash there.

const openReal = () => openComputeWorker({ device: "webgpu" });

/** Submits of the queue by which the device is lost: at the opening, with the parameters, in a task, in a step. */
for (const query of isWhole ? ["lose=1", "lose=4", "lose=10", "crash=5"] : ["lose=4", "crash=5"]) {
  gpuTest(`LastingDevice: a real device lost in its thread (${query}) is replaced, with the same bits`, async () => {
    const steady = await openReal();
    const expected = await twoSteps(await steady.openStage(spec));
    await steady.finish();
    using _ = withLosingWorkers([query, "lose=7"]);
    const { device, losses } = lastingDevice([await openReal()], { reopen: openReal });
    assertEquals(await twoSteps(await device.openStage(spec)), expected);
    assertEquals(losses.length, 2);
    await device.finish();
  });
}

gpuTest("LastingDevice: a stage's own call finds that its device is lost, and says so", async () => {
  using _ = withLosingWorkers(["lose=4"]);
  const worker = await openReal();
  const stage: StageCompute = await worker.openStage(spec);
  const lost = async () => {
    await stage.loadParameters(parametersOf(spec));
    for (let i = 0; i < 5; i++) await stage.forward(microbatchOf(i).input);
  };
  await assertRejects(lost, Error, "the GPU device was lost");
  await worker.finish();
});

Deno.test("LastingDevice: lost with any call, even twice in a row, a stage goes on with the same bits", async () => {
  const expected = await twoSteps(await createCpuStage(spec));
  const calls = 15;
  for (let at = 1; at <= calls; at++) {
    const workers = [
      losingWorker(({ count }) => count === at),
      losingWorker(({ count }) => count === at + 1), // in the repetition, or a little later
      steadyWorker(),
    ];
    const { device, losses } = lastingDevice(workers);
    assertEquals(await twoSteps(await device.openStage(spec)), expected, `lost with call ${at}`);
    assertEquals(losses.length, device.losses);
    assertEquals(losses.length >= 1, true);
  }
});

Deno.test("LastingDevice: three losses without a task in between end it, with numbers and the next command", async () => {
  const loses = () => losingWorker(({ method }) => method === "forward");
  const { device, losses } = lastingDevice([loses(), loses(), loses(), steadyWorker()]);
  const stage = await device.openStage(spec);
  const error = await assertRejects(() => twoSteps(stage), LostDeviceError);
  assertMatch(error.message, /losing processor.*lost 3 times without finishing.*unplugged/);
  assertStringIncludes(error.next ?? "", "--device cpu");
  assertEquals(losses, [1, 2]);
});

Deno.test("LastingDevice: finished tasks forgive earlier losses", async () => {
  const losesSecond = () => losingWorker(({ method, count }) => method === "forward" && count > 4);
  const { device, losses } = lastingDevice([
    losesSecond(),
    losesSecond(),
    losesSecond(),
    losesSecond(),
    steadyWorker(),
  ]);
  const stage = await device.openStage(spec);
  stage.begin?.(() => Promise.resolve());
  const { input } = microbatchOf(0);
  for (let i = 0; i < 20; i++) await stage.forward(input);
  assertEquals(losses, [1, 1, 1, 1]);
});

Deno.test("LastingDevice: a driver that offers no adapter right after a loss is asked again two seconds later", async () => {
  const timers = new ManualTimers();
  const workers = [losingWorker(({ count }) => count === 3), new Error("no adapter"), steadyWorker()];
  const losses: number[] = [];
  const { promise: told, resolve } = Promise.withResolvers<void>();
  const { device } = lastingDevice(workers, {
    timers,
    onLoss: (loss) => {
      losses.push(loss.losses);
      if (losses.length === 2) resolve();
    },
  });
  const results = twoSteps(await device.openStage(spec));
  await told;
  timers.advance(2_000);
  assertEquals(await results, await twoSteps(await createCpuStage(spec)));
  assertEquals(losses, [1, 2]);
});

Deno.test("LastingStage: a long log gives way to a copy of a small stage, and the bits stay", async () => {
  const expected = await twoSteps(await createCpuStage(spec));
  const lostAfter = (calls: number) => [losingWorker(({ count }) => count > calls), steadyWorker()];
  const long = lastingDevice(lostAfter(18), { kept: { logBytes: 1, copyBytes: 2 ** 30 } });
  assertEquals(await twoSteps(await long.device.openStage(spec)), expected);
  assertEquals(long.rebuilt, [0], "nothing is repeated beside the copy");
  const all = lastingDevice(lostAfter(14));
  assertEquals(await twoSteps(await all.device.openStage(spec)), expected);
  assertEquals(all.rebuilt, [7], "a load, four backwards and two steps");
  const large = lastingDevice(lostAfter(14), { kept: { logBytes: 1, copyBytes: 1 } });
  const stage = await large.device.openStage(spec);
  await assertRejects(() => twoSteps(stage), StageLostError, "its state is not kept anywhere");
});

Deno.test("LastingStage: a loss in the copy that shortens a log is no different", async () => {
  const expected = await twoSteps(await createCpuStage(spec));
  const workers = [losingWorker(({ method }) => method === "readOptimizer"), steadyWorker()];
  const { device } = lastingDevice(workers, { kept: { logBytes: 1, copyBytes: 2 ** 30 } });
  assertEquals(await twoSteps(await device.openStage(spec)), expected);
});

Deno.test("LastingStage: errors that are not a loss pass, and so does everything after closing", async () => {
  const { device, losses } = lastingDevice([losingWorker(({ method }) => method === "evaluate"), steadyWorker()]);
  const stage = await device.openStage(spec);
  await assertRejects(() => stage.forward({ type: "tokens", tokens: new Uint32Array(3) }), Error, "3");
  stage.close();
  await assertRejects(() => stage.evaluate({ type: "tokens", tokens: new Uint32Array(3) }, new Uint32Array(3)));
  assertEquals(losses, []);
});

/** Its calls of this method get no answer. */
function silentWorker(method: "forward" | "openStage"): ComputeWorker {
  const worker = steadyWorker();
  const never = () => new Promise<never>(() => {});
  if (method === "openStage") return { ...worker, openStage: never };
  const openStage: ComputeWorker["openStage"] = async (...given) => {
    const stage = await worker.openStage(...given);
    return new Proxy(stage, { get: (target, name) => name === "forward" ? never : Reflect.get(target, name, target) });
  };
  return { ...worker, openStage };
}

/** Lets everything happen that waits for no timer, then moves time past the first call's deadline. */
async function passDeadline(timers: ManualTimers): Promise<void> {
  for (let i = 0; i < 50; i++) await Promise.resolve();
  timers.advance(600_000);
  for (let i = 0; i < 50; i++) await Promise.resolve();
}

Deno.test("LastingDevice: a device that does not answer is opened again once, and its stage goes on", async () => {
  for (const method of ["openStage", "forward"] as const) {
    const timers = new ManualTimers();
    const { device, losses } = lastingDevice([silentWorker(method), steadyWorker()], { timers });
    const stage = device.openStage(spec).then((stage) => {
      stage.begin?.(() => Promise.resolve());
      return stage.forward(microbatchOf(0).input);
    });
    await passDeadline(timers);
    assertEquals((await stage).length > 0, true);
    assertEquals(losses, [1]);
  }
});

Deno.test("LastingDevice: a device that does not answer on its second opening either ends the node with a sentence", async () => {
  const timers = new ManualTimers();
  const { device, losses } = lastingDevice([silentWorker("forward"), silentWorker("forward"), steadyWorker()], {
    timers,
  });
  const stage = await device.openStage(spec);
  stage.begin?.(() => Promise.resolve());
  const ended = assertRejects(() => stage.forward(microbatchOf(0).input), LostDeviceError);
  await passDeadline(timers);
  await passDeadline(timers);
  const { message, next } = await ended;
  assertMatch(message, /losing processor cannot carry this run: .* has not answered for 10 m 00 s \(forward\)/);
  assertStringIncludes(next ?? "", "--device cpu");
  assertEquals(losses, [1]);
});

Deno.test("LastingDevice: a late answer is measured against the slowest call of its kind", async () => {
  const timers = new ManualTimers();
  const { device, losses } = lastingDevice([steadyWorker()], { timers });
  const stage = await device.openStage(spec);
  await stage.forward(microbatchOf(0).input);
  timers.advance(1_000_000); // between calls nothing is awaited
  await stage.forward(microbatchOf(1).input);
  assertEquals(losses, []);
});

/** Computes wrongly from this width on, as a kernel for large shapes may. */
function wrongWorker(fromWidth: number, checks: number[]): ComputeWorker {
  const worker = steadyWorker();
  return {
    ...worker,
    checkOperations: (specs) => {
      const { model: { width }, index } = specs[0]!;
      checks.push(width);
      const rows = { firstRow: 0, lastRow: 63, rowsHash: "", processorRowsHash: "" };
      const worst = {
        stage: index,
        operation: "gemm",
        memory: "layer 0 qkv",
        difference: 0.4,
        tolerance: 1e-3,
        ...rows,
      };
      return Promise.resolve({ outputs: 1, processorHash: "", worst, agrees: width < fromWidth });
    },
  };
}

Deno.test("LastingDevice: a device that is wrong at a stage's shapes gets no stage; equal shapes are checked once", async () => {
  const checks: number[] = [];
  const { device, losses } = lastingDevice([wrongWorker(128, checks)]);
  for (const stage of [spec, { ...spec, firstLayer: 5 }]) (await device.openStage(stage)).close();
  assertEquals(checks, [64]);
  const wide = { ...spec, model: { ...spec.model, width: 128 } };
  const error = await assertRejects(() => device.openStage(wide), UnusableDeviceError);
  assertMatch(
    error.message,
    /losing processor computes stage 0 wrongly: gemm of stage 0 \(layer 0 qkv\) is off by 0.4/,
  );
  assertStringIncludes(error.next ?? "", "--device cpu");
  assertEquals(losses, []);
});
