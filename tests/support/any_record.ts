/**
 * Records as a fuzzer likes them: every type, about nodes, stages and microbatches that may not exist, with non-finite numbers.
 */

import {
  blobHash,
  type Direction,
  microbatchId,
  type NodeId,
  nodeId,
  stageIndex,
  type TaskId,
} from "../../core/ids.ts";
import type { RecordOf, ViewRecord } from "../../core/view/view_record.ts";
import { sampleFacts } from "./sample_run.ts";

type Pick = (below: number) => number;
type Makers = { readonly [Type in ViewRecord["type"]]: (pick: Pick) => Omit<RecordOf<Type>, "type"> };

const phases = ["committing", "reducing", "applying", "agreed"] as const;
const directions: readonly Direction[] = ["forward", "turnaround", "backward"];
const hash = blobHash("0".repeat(64));

const node = (pick: Pick): NodeId => nodeId(`5Node${pick(40)}`);
const stage = (pick: Pick) => stageIndex(pick(6) - 1);
const task = (pick: Pick) => `${pick(30)}.0.forward.0` as TaskId;
const count = (pick: Pick) => pick(100);
const number = (pick: Pick): number => [Number.NaN, Infinity, -Infinity, 0, -1.5, 3.25, 1e300][pick(7)]!;
const flag = (pick: Pick) => pick(2) === 0;
const about = (pick: Pick) => ({ round: count(pick), stage: stage(pick) });

const makers: Makers = {
  opened: (pick) => ({ facts: sampleFacts, startedAtMs: count(pick), step: count(pick) }),
  takenUp: (pick) => ({
    step: count(pick),
    round: count(pick),
    ...(flag(pick) ? {} : { phase: "merging" }),
    ...(flag(pick) ? {} : { nodes: [{ node: node(pick), role: "miner", stage: stage(pick), isReady: flag(pick) }] }),
  }),
  deviceFound: () => ({ device: "cpu" }),
  wire: (pick) => ({ forwardBytes: count(pick), backwardBytes: count(pick), bf16Bytes: count(pick) }),
  bytesMoved: (pick) => ({ wires: count(pick), merge: count(pick), parameters: count(pick), control: count(pick) }),
  chain: (pick) => ({ block: count(pick), weightsSet: count(pick), epochs: count(pick), minersRao: `${count(pick)}` }),
  textSampled: (pick) => ({
    ...{ round: count(pick), step: count(pick), tokens: count(pick) },
    ...{ prompt: "The", text: `\ud800\u202e\u001b[2J${"x".repeat(40 * pick(100))}` },
  }),
  noted: () => ({ label: "chaos", text: "something" }),
  runStarted: (pick) => ({ step: count(pick), round: count(pick), stages: 3, miners: count(pick) }),
  nodeJoined: (pick) => ({ node: node(pick), role: flag(pick) ? "miner" : "validator", adapter: "x" }),
  nodeAssigned: (pick) => ({ node: node(pick), ...about(pick) }),
  nodeLoading: (pick) => ({ node: node(pick), stage: stage(pick), part: "making", percent: count(pick) }),
  nodeReady: (pick) => ({ node: node(pick), ...about(pick), parameters: hash }),
  nodeResumed: (pick) => ({ node: node(pick), stage: stage(pick), tasksReissued: count(pick) }),
  nodeMoved: (pick) => ({ node: node(pick), from: stage(pick), to: stage(pick) }),
  nodeLost: (pick) => ({ node: node(pick), reason: "gone", tasksReissued: count(pick), tasksKept: count(pick) }),
  stagesUnserved: (pick) => ({ stages: [stage(pick), stage(pick)].slice(pick(3)) }),
  taskReleased: (pick) => ({ task: task(pick), node: node(pick), reason: "late" }),
  taskFinished: (pick) => ({
    task: task(pick),
    node: node(pick),
    stage: stage(pick),
    direction: directions[pick(3)]!,
    microbatch: microbatchId(pick(50)),
    ...(flag(pick) ? {} : { sentMs: number(pick), tookMs: number(pick), computeMs: number(pick) }),
  }),
  stepClosed: (pick) => ({
    ...{ step: count(pick), steps: 40, round: count(pick), loss: number(pick), learningRate: 0.001 },
    ...{ gradientNorm: number(pick), clipFactor: number(pick), tokens: count(pick), stepMs: count(pick) },
  }),
  stageRestored: (pick) => ({ ...about(pick), from: "replica" }),
  rewound: (pick) => ({ step: count(pick), toStep: count(pick), tokens: count(pick) }),
  mergeRetaken: (pick) => ({
    because: flag(pick) ? "lossJumped" : flag(pick) ? "parametersLost" : flag(pick) ? "madeUpWires" : "payloadMissing",
    round: count(pick),
    step: count(pick),
    tokens: count(pick),
    suspects: [node(pick)],
    ...(flag(pick) ? {} : { stages: [{ stage: stage(pick), reason: "x\u001b[2J" }] }),
  }),
  mergePhase: (pick) => ({ ...about(pick), phase: phases[pick(4)]! }),
  roundEndsEarly: (pick) => ({ ...about(pick), node: node(pick), step: count(pick) }),
  mergeLate: (pick) => ({ ...about(pick), node: node(pick), phase: "uploading" }),
  sliceDisputed: (pick) => ({ ...about(pick), slice: count(pick), liar: flag(pick) ? null : node(pick) }),
  roundMerged: (pick) => ({
    round: count(pick),
    stages: [{ stage: stage(pick), parameters: hash, replicas: pick(3), agree: flag(pick) }],
    ...(flag(pick) ? {} : { tasksLost: count(pick) }),
    bytesPerMiner: number(pick),
    mergeMs: count(pick),
    draws: "",
  }),
  checkpointWritten: (pick) => ({ round: count(pick), step: count(pick), folder: "checkpoints" }),
  evaluated: (pick) => ({ round: count(pick), validator: node(pick), loss: number(pick), tokens: count(pick) }),
  verdict: (pick) => ({
    ...{ ...about(pick), validator: node(pick), miner: node(pick), task: task(pick), passed: flag(pick) },
    ...{ innovationError: number(pick), equalShare: number(pick), tolerance: 0.01 },
    lossError: flag(pick) ? null : number(pick),
  }),
  resumed: (pick) => ({ step: count(pick), round: count(pick), nodes: count(pick) }),
  ownerActed: (pick) => ({
    action: (["pause", "resume", "kick", "admit", "rate", "stop", "stopAfterRound"] as const)[pick(7)]!,
    ...(flag(pick) ? {} : { node: node(pick), learningRate: number(pick) }),
  }),
  runPaused: () => ({ text: "full" }),
  runContinued: (pick) => ({ pausedMs: count(pick) }),
  trainingHalted: (pick) => ({ text: "lost", retryMs: count(pick) }),
  trainingRetried: (pick) => ({ haltedMs: count(pick) }),
  faultSeen: (pick) => ({ node: flag(pick) ? null : node(pick), code: "badBlob", detail: "x\u001b[2J" }),
  blamed: (pick) => ({ node: node(pick), code: "badBlob", detail: "x" }),
  warning: () => ({ text: "careful" }),
  runFinished: (pick) => ({ step: count(pick), finished: flag(pick), reason: "enough" }),
};

const types = Object.keys(makers) as ViewRecord["type"][];

export function anyRecord(pick: Pick): ViewRecord {
  const type = types[pick(types.length)]!;
  return { type, ...makers[type](pick) } as ViewRecord;
}
