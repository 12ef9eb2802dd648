/** The orchestrator repeats a task with real numbers: right and wrong outputs, and what it cannot repeat. */

import { assert, assertEquals, assertMatch } from "@std/assert";
import { type RefereeTask, TaskReferee, type TaskRefereeOptions } from "../../../cli/orchestrator/hub/task_referee.ts";
import { decodeWire, encodeWire } from "../../../core/codec/wire.ts";
import { microbatchId, stageIndex, taskId } from "../../../core/ids.ts";
import { initialParameters } from "../../../core/model/initial.ts";
import { layerSpecs } from "../../../core/model/layer_specs.ts";
import { judgeAsReferee } from "../../../core/score/verdict.ts";
import { parameterTable, type StageSpec, stageSpecs } from "../../../core/model/spec.ts";
import { splitLayers } from "../../../core/model/stages.ts";
import { stageWires, taskOutput } from "../../../core/model/stage_wires.ts";
import type { OrchestratorEvent } from "../../../core/orchestrator/event.ts";
import { cpuAdapter, createCpuStage } from "../../../gpu/cpu/cpu_stage.ts";
import { planStage } from "../../../gpu/stage_plan.ts";
import { createReferenceStage } from "../../lab/reference/stage.ts";
import { ComputeError } from "../../../gpu/worker_client.ts";
import { countingBatches } from "../../lab/world/counting_batches.ts";
import { referenceHost } from "../../lab/world/devices.ts";
import { tinyConfig } from "../../support/tiny_model.ts";

const config = tinyConfig();
const layersOfStages = splitLayers(config);
const stages = stageSpecs(config, layersOfStages);
const [head] = stages;
const output = taskOutput(head!, "forward")!;
const microbatch = microbatchId(0);
const stage = stageIndex(0);
const task: RefereeTask = {
  type: "refereeTask",
  round: 0,
  task: taskId({ microbatch, stage, direction: "forward", attempt: 0 }),
  stage,
  direction: "forward",
  losses: null,
  source: { type: "initial" },
  attachments: [],
};

/** The head's tokens, and what it makes of them. */
async function made(): Promise<{ tokens: Uint8Array; wire: Uint8Array }> {
  const compute = createReferenceStage(head!);
  await compute.loadParameters(initialParameters(parameterTable(head!), config.seed));
  const { inputs } = countingBatches(config).tokensOf(microbatch);
  return { tokens: new Uint8Array(inputs.buffer), wire: await compute.forward({ type: "tokens", tokens: inputs }) };
}

function refereeWith(options: Partial<TaskRefereeOptions> = {}): TaskReferee {
  const get = () => Promise.reject(new Error("no such blob"));
  const blobs = { put: get, get };
  const openReferee = () => Promise.resolve(referenceHost());
  return new TaskReferee({ config, stages, layersOfStages, blobs, openReferee, ...options });
}

const answerOf = (event: OrchestratorEvent) => {
  assert(event.type === "taskRefereed" && event.task === task.task);
  return event;
};

Deno.test("Task arbiter: an honest output is right to rounding, one of the wrong sign is far off", async () => {
  const { tokens, wire } = await made();
  const referee = refereeWith();
  const honest = answerOf(await referee.repeat(task, [tokens, wire])).found!;
  assert(honest.innovationError < 1e-6 && honest.lossError === null, JSON.stringify(honest));
  const flipped = encodeWire(output, decodeWire(output, wire).map((value) => -value));
  const liar = answerOf(await referee.repeat(task, [tokens, flipped])).found!;
  assert(liar.innovationError > 1.5, JSON.stringify(liar));
});

Deno.test("Task arbiter: a stage that it cannot hold is repeated layer by layer, to the same result", async () => {
  const layered = tinyConfig({ model: { layers: 6 } });
  const layers = [2, 2, 2];
  const large = { config: layered, stages: stageSpecs(layered, layers), layersOfStages: layers };
  const spec = large.stages[0]!;
  const compute = await createCpuStage(spec);
  await compute.loadParameters(initialParameters(parameterTable(spec), layered.seed));
  const { inputs } = countingBatches(layered).tokensOf(microbatch);
  const wire = await compute.forward({ type: "tokens", tokens: inputs });
  const contents = [new Uint8Array(inputs.buffer), wire];
  const opened: number[] = [];
  const openStage = (stage: StageSpec) => {
    opened.push(stage.layerCount);
    return createCpuStage(stage, { optimizer: null });
  };
  const openReferee = () => Promise.resolve({ adapter: cpuAdapter, openStage, finish: () => Promise.resolve() });
  const whole = answerOf(await refereeWith({ ...large, openReferee }).repeat(task, contents)).found!;
  const plans = await Promise.all(layerSpecs(spec).map((layer) => planStage(layer.spec, "cpu", { optimizer: null })));
  const referee = refereeWith({ ...large, openReferee, mostBytes: Math.max(...plans.map(({ bytes }) => bytes)) });
  assertEquals(answerOf(await referee.repeat(task, contents)).found, whole);
  assertEquals(opened, [2, 1, 1]);
  const tooSmall = answerOf(await refereeWith({ ...large, openReferee, mostBytes: 1000 }).repeat(task, contents));
  assertMatch(tooSmall.detail, /a layer of stage 0 is too large: it takes \d+ bytes, and at most 1000/);
});

Deno.test("Task arbiter: what it cannot repeat is an answer, never a failure of the run", async () => {
  const { tokens, wire } = await made();
  const why = async (referee: TaskReferee, work: RefereeTask, contents: readonly Uint8Array[]) => {
    const { found, detail } = answerOf(await referee.repeat(work, contents));
    assertEquals(found, null);
    return detail;
  };
  const parameters = { hash: "0".repeat(64), bytes: 4 * parameterTable(head!).length } as never;
  const gone: RefereeTask = { ...task, source: { type: "blobs", parameters, momentum: null } };
  assertMatch(await why(refereeWith(), gone, [tokens, wire]), /no such blob/);
  const noDevice = refereeWith({ openReferee: () => Promise.reject(new Error("no device")) });
  assertMatch(await why(noDevice, task, [tokens, wire]), /no device/);
  assertMatch(await why(refereeWith(), task, [tokens, wire.subarray(4)]), /bytes/);
  const large = tinyConfig({ model: { width: 8192, vocabSize: 131_072, heads: 64, kvHeads: 64 } }); // 4 GiB of embeddings
  const tooLarge = { config: large, stages: stageSpecs(large, splitLayers(large)), layersOfStages: splitLayers(large) };
  assertMatch(
    await why(refereeWith(tooLarge), task, [tokens, wire]),
    /a layer of stage 0 is too large: .*Cannot allocate/,
  );
  const closed = refereeWith();
  closed.close();
  assertMatch(await why(closed, task, [tokens, wire]), /is ending/);
});

Deno.test("Task arbiter: a device that could not be opened, or has stopped, is opened again", async () => {
  const { tokens, wire } = await made();
  const stopped = () => Promise.reject(new ComputeError("WorkerStopped", "out of memory"));
  const openings = [
    () => Promise.reject(new Error("no thread")),
    () => Promise.resolve({ ...referenceHost(), openStage: stopped }),
    () => Promise.resolve(referenceHost()),
  ];
  const referee = refereeWith({ openReferee: () => openings.shift()!() });
  const details: string[] = [];
  for (let i = 0; i < 3; i++) details.push(answerOf(await referee.repeat(task, [tokens, wire])).detail);
  assertEquals(details, ["no thread", "out of memory", ""]);
});

/**
 * Row 0 of a wire and its gradient as a head and a tail made them that want the replica between them banned. The wire is so
 * large that the stage changes no value of the gradient by as much as a bfloat16 shows, but for one, which lies so near the
 * middle of two that the processor and the reference round it differently.
 */
const madeUp = {
  wire: [-456, -460, 482, -444, -524, 544, -464, -560, 556, 494, 500, 580, -460, -448, 462, -450],
  signs: [1, -1, -1, 1, 1, 1, -1, 1, 1, 1, -1, 1, -1, 1, 1, 1],
};

Deno.test("Task arbiter: wires made up so that honest devices round differently prove nothing against them", async () => {
  const iota = tinyConfig({ pipeline: { codec: "iota" } });
  const layers = splitLayers(iota);
  const specs = stageSpecs(iota, layers);
  const middle = specs[1]!;
  const { input, outputGradient, inputGradient } = stageWires(middle);
  const values = new Float32Array(input!.rows * input!.width);
  values.set(madeUp.wire);
  const gradients = new Float32Array(values.length);
  gradients.set(madeUp.signs.map((sign) => sign / 64));
  const wire = encodeWire(input!, values);
  const gradient = encodeWire(outputGradient!, gradients);
  const outputs: Uint8Array[] = [];
  for (const compute of [await createCpuStage(middle), createReferenceStage(middle)]) {
    await compute.loadParameters(initialParameters(parameterTable(middle), iota.seed));
    await compute.zeroGradients();
    outputs.push((await compute.backward({ type: "wire", wire }, gradient))!);
    compute.close();
  }
  const [processor, reference] = outputs.map((bytes) => decodeWire(inputGradient!, bytes));
  assertEquals(
    processor!.filter((value, i) => value !== reference![i]).length,
    1,
    "the devices round one value differently",
  );
  const options = { config: iota, stages: specs, layersOfStages: layers };
  const work: RefereeTask = { ...task, stage: stageIndex(1), direction: "backward" };
  const { found } = answerOf(await refereeWith(options).repeat(work, [wire, gradient, outputs[0]!]));
  assert(found!.innovationError > 0.5, "the claim looks made up");
  assertEquals(judgeAsReferee(found!, iota.validate.tolerance), "unclear", "rounding explains it");
  const flipped = encodeWire(inputGradient!, processor!.map((value) => -value));
  const liar = answerOf(await refereeWith(options).repeat(work, [wire, gradient, flipped])).found!;
  assertEquals(judgeAsReferee(liar, iota.validate.tolerance), "madeUp", JSON.stringify(liar));
});

Deno.test("Task arbiter: a deep stage's float32 outputs of a huge wire, which hide what it adds, prove nothing against it", async () => {
  const deep = tinyConfig({ model: { layers: 96 } });
  const layers = splitLayers(deep);
  const specs = stageSpecs(deep, layers);
  const middle = specs[1]!;
  const { input, output } = stageWires(middle);
  const values = new Float32Array(input!.rows * input!.width).map((_, i) => 1e5 * Math.sin(i * i));
  const wire = encodeWire(input!, values);
  const compute = await createCpuStage(middle);
  await compute.loadParameters(initialParameters(parameterTable(middle), deep.seed));
  const honest = await compute.forward({ type: "wire", wire });
  compute.close();
  const options = { config: deep, stages: specs, layersOfStages: layers };
  const work: RefereeTask = { ...task, stage: stageIndex(1) };
  const { found } = answerOf(await refereeWith(options).repeat(work, [wire, honest]));
  assert(found!.innovationError > 2 * deep.validate.tolerance, JSON.stringify(found));
  assertEquals(judgeAsReferee(found!, deep.validate.tolerance), "unclear", JSON.stringify(found));
  const flipped = encodeWire(output!, decodeWire(output!, honest).map((value) => -value));
  const liar = answerOf(await refereeWith(options).repeat(work, [wire, flipped])).found!;
  assertEquals(judgeAsReferee(liar, deep.validate.tolerance), "madeUp", JSON.stringify(liar));
});
