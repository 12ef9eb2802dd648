/** Gradients added up by a validator and by the orchestrator, with real numbers: as a miner's own, in parts or at once. */

import { assert, assertEquals, assertRejects } from "@std/assert";
import { TaskReferee } from "../../../cli/orchestrator/hub/task_referee.ts";
import { ValidatorHost } from "../../../cli/node/validator_host.ts";
import { byteSegments } from "../../../cli/roles/segments.ts";
import { encodeWire, type Wire } from "../../../core/codec/wire.ts";
import { type Direction, microbatchId, stageIndex, taskId } from "../../../core/ids.ts";
import { initialParameters } from "../../../core/model/initial.ts";
import { parameterTable, stageSpecs } from "../../../core/model/spec.ts";
import { splitLayers } from "../../../core/model/stages.ts";
import { stageWires } from "../../../core/model/stage_wires.ts";
import type { ValidatorWork } from "../../../core/validator/event.ts";
import { createReferenceStage } from "../../lab/reference/stage.ts";
import { countingBatches } from "../../lab/world/counting_batches.ts";
import { processor, referenceHost } from "../../lab/world/devices.ts";
import { tinyConfig } from "../../support/tiny_model.ts";

const config = tinyConfig();
const layersOfStages = splitLayers(config);
const stages = stageSpecs(config, layersOfStages);
const blobs = { put: () => Promise.reject(new Error("no")), get: () => Promise.reject(new Error("no such blob")) };

const wave = (wire: Wire, seed: number, size: number): Uint8Array =>
  encodeWire(wire, new Float32Array(wire.rows * wire.width).map((_, i) => size * Math.sin(seed + i * i)));

const bytesOf = (tokens: Uint32Array) => new Uint8Array(tokens.buffer);

/** Segments of `count` tasks of a stage's gradient direction, made up. */
function tasksOf(stage: number, count: number): { direction: Direction; pairs: [Uint8Array, Uint8Array][] } {
  const { input, outputGradient } = stageWires(stages[stage]!);
  const direction = outputGradient === null ? "turnaround" : "backward";
  const pairs = Array.from({ length: count }, (_, i): [Uint8Array, Uint8Array] => {
    const { inputs, targets } = countingBatches(config).tokensOf(microbatchId(i));
    return [
      input === null ? bytesOf(inputs) : wave(input, i, 1),
      outputGradient === null ? bytesOf(targets) : wave(outputGradient, 7 + i, 1e-3),
    ];
  });
  return { direction, pairs };
}

/** As the reference has it, in float64. */
async function squareSum(stage: number, count: number, skipped = -1): Promise<number> {
  const compute = createReferenceStage(stages[stage]!);
  await compute.loadParameters(initialParameters(parameterTable(stages[stage]!), config.seed));
  await compute.zeroGradients();
  const u32 = (bytes: Uint8Array) => new Uint32Array(bytes.slice().buffer);
  for (const [i, [input, second]] of tasksOf(stage, count).pairs.entries()) {
    if (i === skipped) continue;
    const given = stage === 0
      ? { type: "tokens" as const, tokens: u32(input) }
      : { type: "wire" as const, wire: input };
    if (stage === stages.length - 1) await compute.turnaround(given, u32(second));
    else await compute.backward(given, second);
  }
  return await compute.gradientSquareSum();
}

function validatorHost() {
  const segments = byteSegments();
  const device = processor;
  const host = new ValidatorHost({ device, blobs, segments });
  const work = (stage: number, { first, tasks, isLast }: { first: number; tasks: number; isLast: boolean }) => {
    const { direction, pairs } = tasksOf(stage, first + tasks);
    const held = pairs.slice(first).map(([input, second]) => ({
      input: segments.hold(input),
      second: segments.hold(second),
    }));
    const asked: ValidatorWork = {
      ...{ type: "gradient", round: 0, stage: stageIndex(stage), direction, source: { type: "initial" } },
      ...{ first, isLast, tasks: held },
    };
    return host.perform({ config, layersOfStages, work: asked });
  };
  return { host, work };
}

Deno.test("Gradient sum: in parts on the processor it is the reference's, to a hundred-thousandth, in every stage", async () => {
  const { host, work } = validatorHost();
  for (const stage of [0, 1, 2]) {
    assertEquals(await work(stage, { first: 0, tasks: 3, isLast: false }), { type: "gradient", squareSum: null });
    const whole = await work(stage, { first: 3, tasks: 2, isLast: true });
    assert(whole.type === "gradient" && whole.squareSum !== null);
    const expected = await squareSum(stage, 5);
    assert(Math.abs(whole.squareSum / expected - 1) < 1e-5, `stage ${stage}: ${whole.squareSum}, ${expected}`);
    const without = await squareSum(stage, 5, 4);
    assert(Math.abs(without / expected - 1) > 0.01, `stage ${stage}: a task left out shows: ${without}, ${expected}`);
  }
  host.close();
});

Deno.test("Gradient sum: a part does not go on where other work or another stage came in between", async () => {
  const { host, work } = validatorHost();
  await work(1, { first: 0, tasks: 2, isLast: false });
  await work(2, { first: 0, tasks: 1, isLast: false });
  const late = () => work(1, { first: 2, tasks: 1, isLast: true });
  await assertRejects(late, Error, "Cannot continue a gradient of 2 tasks");
  await assertRejects(() => work(0, { first: 1, tasks: 1, isLast: true }), Error, "the one on the device has 0");
  const anew = await work(1, { first: 0, tasks: 2, isLast: true });
  assert(anew.type === "gradient" && anew.squareSum !== null);
  const expected = await squareSum(1, 2);
  assert(Math.abs(anew.squareSum / expected - 1) < 1e-5, "it begins with a gradient of zero");
  host.close();
});

Deno.test("Gradient sum: the orchestrator adds up all of it at once, and what it cannot is an answer", async () => {
  const openReferee = () => Promise.resolve(referenceHost());
  const referee = new TaskReferee({ config, stages, layersOfStages, blobs, openReferee });
  const { direction, pairs } = tasksOf(1, 3);
  const task = taskId({ microbatch: microbatchId(0), stage: stageIndex(1), direction, attempt: 0 });
  const work = {
    ...{ type: "refereeGradient" as const, round: 0, task, stage: stageIndex(1), direction },
    ...{ source: { type: "initial" as const }, attachments: [] },
  };
  const event = await referee.repeat(work, pairs.flat());
  assert(event.type === "gradientRefereed" && event.task === task && event.squareSum !== null);
  assert(Math.abs(event.squareSum / await squareSum(1, 3) - 1) < 1e-9);
  const short = await referee.repeat(work, [pairs[0]![0].subarray(4), pairs[0]![1]]);
  assert(short.type === "gradientRefereed" && short.squareSum === null && short.detail.includes("bytes"));
  referee.close();
});
