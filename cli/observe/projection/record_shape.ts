/** Checks that data from a disk is a record. Measured numbers may be null: JSON has no non-finite ones. */

import * as v from "valibot";
import { loadingParts } from "../../../core/protocol/message.ts";
import type { RecordOf, ViewRecord } from "../../../core/view/view_record.ts";

const text = v.string();
const whole = v.number();
const measured = v.nullable(v.number());
const phase = v.picklist(["committing", "reducing", "applying", "agreed"]);
const role = v.picklist(["miner", "validator"]);
const optional = <Schema extends v.GenericSchema>(schema: Schema) => v.optional(schema);

type Fields = {
  readonly [Type in ViewRecord["type"]]: { readonly [K in keyof Omit<RecordOf<Type>, "type">]-?: v.GenericSchema };
};

const fields: Fields = {
  opened: {
    facts: v.object({
      ...{ command: text, run: text, size: text, parameters: whole, device: text, steps: whole, stepsPerRound: whole },
      layersOfStages: v.array(whole),
    }),
    ...{ startedAtMs: whole, step: whole },
  },
  takenUp: {
    ...{ step: whole, round: whole },
    phase: optional(v.picklist(["gathering", "training", "merging", "finished", "stopped"])),
    nodes: optional(v.array(v.object({ node: text, role, stage: v.nullable(whole), isReady: v.boolean() }))),
  },
  deviceFound: { device: text },
  wire: { forwardBytes: measured, backwardBytes: measured, bf16Bytes: measured },
  bytesMoved: { wires: whole, merge: whole, parameters: whole, control: whole },
  chain: { block: whole, weightsSet: whole, epochs: whole, minersRao: text },
  textSampled: { round: whole, step: whole, prompt: text, text, tokens: whole },
  noted: { label: text, text },
  runStarted: { step: whole, round: whole, stages: whole, miners: whole },
  nodeJoined: { node: text, role, adapter: text },
  nodeAssigned: { node: text, stage: whole, round: whole },
  nodeLoading: { node: text, stage: whole, part: v.picklist(loadingParts), percent: measured },
  nodeReady: { node: text, stage: whole, round: whole, parameters: text, optimizer: v.optional(v.literal("empty")) },
  nodeResumed: { node: text, stage: whole, tasksReissued: whole },
  nodeMoved: { node: text, from: whole, to: whole },
  nodeLost: {
    ...{ node: text, reason: text, tasksReissued: whole, tasksKept: whole, tasksLost: optional(whole) },
    expelled: optional(v.literal(true)),
  },
  stagesUnserved: { stages: v.array(whole) },
  taskReleased: { task: text, node: text, reason: text },
  taskFinished: {
    ...{ task: text, node: text, stage: whole, microbatch: whole },
    direction: v.picklist(["forward", "turnaround", "backward"]),
    ...{ sentMs: optional(measured), tookMs: optional(measured), computeMs: optional(measured) },
  },
  stepClosed: {
    ...{ step: whole, steps: whole, round: whole, loss: measured, learningRate: measured, gradientNorm: measured },
    ...{ clipFactor: measured, tokens: whole, stepMs: measured },
  },
  stageRestored: {
    ...{ round: whole, stage: whole },
    from: v.picklist(["stored", "replica", "checkpoint", "neighbours", "initial"]),
  },
  roundEndsEarly: { round: whole, stage: whole, node: text, step: whole },
  rewound: { step: whole, toStep: whole, tokens: whole },
  mergeRetaken: {
    because: v.picklist(["lossJumped", "madeUpWires", "payloadMissing", "parametersLost", "minersLost"]),
    ...{ round: whole, step: whole, tokens: whole, suspects: v.array(text) },
    stages: optional(v.array(v.object({ stage: whole, reason: text }))),
  },
  mergePhase: { round: whole, stage: whole, phase },
  mergeLate: { round: whole, stage: whole, node: text, phase: v.picklist([...phase.options, "uploading"]) },
  sliceDisputed: { round: whole, stage: whole, slice: whole, liar: v.nullable(text) },
  roundMerged: {
    tasksLost: optional(whole),
    ...{ round: whole, bytesPerMiner: measured, mergeMs: measured, waitedMs: optional(measured) },
    stages: v.array(v.object({ stage: whole, parameters: text, replicas: whole, agree: v.boolean() })),
    ...{ nextSteps: optional(whole), draws: optional(text) }, // missing in early versions
  },
  checkpointWritten: { round: whole, step: whole, folder: text },
  evaluated: { round: whole, validator: text, loss: measured, tokens: whole },
  verdict: {
    ...{ round: whole, validator: text, miner: text, stage: whole, task: text, passed: v.boolean() },
    ...{ innovationError: measured, equalShare: measured, lossError: measured, tolerance: measured },
    gradient: optional(v.object({ claimed: measured, found: measured, least: measured })),
  },
  resumed: { step: whole, round: whole, nodes: whole, miners: optional(whole) },
  ownerActed: {
    action: v.picklist(["pause", "resume", "kick", "admit", "rate", "stop", "stopAfterRound"]),
    ...{ node: optional(text), learningRate: optional(measured) },
  },
  runPaused: { text },
  runContinued: { pausedMs: measured },
  trainingHalted: { text, retryMs: measured },
  trainingRetried: { haltedMs: measured },
  faultSeen: { node: v.nullable(text), code: text, detail: text },
  blamed: { node: text, code: text, detail: text },
  warning: { text },
  runFinished: { step: whole, finished: v.boolean(), reason: text },
};

const shapes: ReadonlyMap<string, v.GenericSchema> = new Map(
  Object.entries(fields).map(([type, own]) => [type, v.object(own as Record<string, v.GenericSchema>)]),
);

export function recordProblem(record: unknown): string | null {
  if (typeof record !== "object" || record === null) return "it is no object";
  const { type } = record as { readonly type?: unknown };
  const shape = typeof type === "string" ? shapes.get(type) : undefined;
  if (shape === undefined) return "its type is not known to this version";
  const result = v.safeParse(shape, record, { abortEarly: true });
  if (result.success) return null;
  const [issue] = result.issues;
  return `its ${v.getDotPath(issue) ?? "content"} is not what it must be`;
}
