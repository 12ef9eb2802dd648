/**
 * A short invented run as records, for everything that shows a run: three stages, two miners each, two rounds, one lost miner.
 * The numbers are made up and fixed; nothing here is a measurement.
 */

import { blobHash, microbatchId, type NodeId, nodeId, stageIndex, taskId } from "../../core/ids.ts";
import type { RunRecord } from "../../core/protocol/record.ts";
import { fold } from "../../core/view/fold.ts";
import { emptyView, type RunView } from "../../core/view/view.ts";
import type { RunFacts, ViewRecord } from "../../core/view/view_record.ts";

export const sampleFacts: RunFacts = {
  command: "swarm",
  run: "demo",
  size: "tiny",
  parameters: 1_180_000,
  device: "llvmpipe (software Vulkan)",
  steps: 40,
  stepsPerRound: 10,
  layersOfStages: [1, 2, 1],
};

export const sampleMiners: readonly NodeId[] = [
  "5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY",
  "5FHneW46xGXgs5mUiveU4sbTyGBzmstUspZC92UhjJM694ty",
  "5FLSigC9HGRKVhB9FiEo4Y3koPsNmBmLJbpXg2mp1hXcS59Y",
  "5DAAnrj7VHTznn2AWBemMuyBwZWs6FNFjdyVXUeYum3PTXFy",
  "5HGjWAeFDfFCWPsjFQdVV2Msvz2XtMktvgocEZcCj68kUMaw",
  "5CiPPseXPECbkjWCa6MnjNokrgYjMqmKndv2rSnekSK2DjUL",
].map(nodeId);

export const sampleValidator = nodeId("5GNJqTPyNqANBkUVMN1LPPrxXnFouWXoe2wNSmmEoLctxiZY");
const stages = 3;
const replicas = 2;
const lossStep = 23;

export interface TimedRecord {
  readonly atMs: number;
  readonly record: RunRecord;
}

/** Records up to and including step `steps` of 40, with a merge after every tenth. */
export function sampleRun(steps: number): TimedRecord[] {
  const records: TimedRecord[] = [];
  let atMs = 1_000;
  const add = (record: RunRecord, tookMs = 40) => {
    atMs += tookMs;
    records.push({ atMs, record });
  };
  sampleMiners.forEach((node, i) => {
    const stage = stageIndex(Math.floor(i / replicas));
    add({ type: "nodeJoined", node, role: "miner", adapter: "llvmpipe" });
    add({ type: "nodeAssigned", node, stage, round: 0 });
    add({ type: "nodeReady", node, stage, round: 0, parameters: blobHash("0".repeat(64)) }, 900);
  });
  add({ type: "nodeJoined", node: sampleValidator, role: "validator", adapter: "llvmpipe" });
  add({ type: "runStarted", step: 0, round: 0, stages, miners: sampleMiners.length });
  for (let step = 1; step <= steps; step++) {
    addStep(step, add);
    if (step === lossStep) lose(add);
    if (step % 10 === 0) addMerge(step / 10, add);
  }
  return records;
}

type Add = (record: RunRecord, tookMs?: number) => void;

function addStep(step: number, add: Add): void {
  const miner = (stage: number, microbatch: number) => {
    const alone = stage === 1 && step > lossStep; // the other one is gone
    return sampleMiners[stage * replicas + (alone ? 0 : microbatch % replicas)]!;
  };
  let sentMs = 0;
  const finish = (microbatch: number, stage: number, direction: "forward" | "turnaround" | "backward") =>
    add({
      type: "taskFinished",
      task: taskId({ microbatch: microbatchId(microbatch), stage: stageIndex(stage), direction, attempt: 0 }),
      node: miner(stage, microbatch),
      stage: stageIndex(stage),
      direction,
      microbatch: microbatchId(microbatch),
      sentMs: sentMs += 45,
      tookMs: 20 + 5 * stage + 3 * (microbatch % 4),
      computeMs: 15 + 4 * stage,
    }, 20);
  for (let i = 0; i < 4; i++) {
    const microbatch = (step - 1) * 4 + i;
    finish(microbatch, 0, "forward");
    finish(microbatch, 1, "forward");
    finish(microbatch, 2, "turnaround");
    finish(microbatch, 1, "backward");
    finish(microbatch, 0, "backward");
  }
  add({
    type: "stepClosed",
    step,
    steps: sampleFacts.steps,
    round: Math.floor((step - 1) / 10),
    loss: 3.2 + 4.1 * Math.exp(-step / 9) + 0.05 * Math.sin(step * 2.3),
    learningRate: 0.003 * Math.min(1, step / 10),
    gradientNorm: 1.3,
    clipFactor: 0.77,
    tokens: 2_048,
    stepMs: 1_150,
  }, 700);
}

function lose(add: Add): void {
  const node = sampleMiners[3]!;
  add({ type: "nodeLost", node, reason: "no answer for 10 s", tasksReissued: 2, tasksKept: 0 });
  const task = taskId({ microbatch: microbatchId(91), stage: stageIndex(1), direction: "backward", attempt: 0 });
  add({ type: "taskReleased", task, node, reason: "miner lost" });
}

function addMerge(round: number, add: Add): void {
  for (const phase of ["committing", "reducing", "applying", "agreed"] as const) {
    for (let stage = 0; stage < stages; stage++) {
      add({ type: "mergePhase", round, stage: stageIndex(stage), phase }, 100);
    }
  }
  add({
    type: "roundMerged",
    round,
    stages: Array.from({ length: stages }, (_, stage) => ({
      stage: stageIndex(stage),
      parameters: "ab".repeat(32),
      replicas,
      agree: true,
    })),
    bytesPerMiner: 2_411_724,
    mergeMs: 1_840,
    draws: "cd".repeat(32),
  });
  add({ type: "checkpointWritten", round, step: round * 10, folder: `runs/demo/checkpoints/${round}` });
  add({ type: "evaluated", round, validator: sampleValidator, loss: 6.4 - 0.7 * round, tokens: 16_384 });
  add({
    type: "verdict",
    round,
    validator: sampleValidator,
    miner: sampleMiners[round === 3 ? 4 : round]!,
    stage: stageIndex(Math.min(2, Math.ceil(round / replicas))),
    task: taskId({
      microbatch: microbatchId(7 * round),
      stage: stageIndex(Math.min(2, Math.ceil(round / replicas))),
      direction: "forward",
      attempt: 0,
    }),
    passed: round !== 3,
    innovationError: round === 3 ? 0.91 : 2.6e-7,
    equalShare: round === 3 ? 0.002 : 1,
    lossError: null,
    tolerance: 0.01,
  });
}

/** A view that nothing happened in, opened at time 0. */
export function openedView(facts: RunFacts = sampleFacts): RunView {
  const view = emptyView();
  foldAt(view, { type: "opened", facts, startedAtMs: 0, step: 0 }, 0);
  return view;
}

export const foldAt = (view: RunView, record: ViewRecord, atMs: number): void => fold(view, { record, atMs });
