/**
 * One sample of every message and hello record, and the bytes each must have for as long as PROTOCOL_VERSION stays.
 *
 * The compiler looks for a sample of every union member. Run this file to write new vectors after a change of protocol:
 * `deno run -RW tests/support/net/message_vectors.ts`; the diff shows what old nodes would no longer understand. Other bytes
 * of a version that has vectors are refused.
 */

import { parseRunConfig } from "../../../core/settings/parse.ts";
import { blobHash, type BlobRef, microbatchId, nodeId, stageIndex, taskId } from "../../../core/ids.ts";
import { assert } from "../../../core/assert.ts";
import { type HubMessage, type NodeMessage, PROTOCOL_VERSION } from "../../../core/protocol/message.ts";
import { encodeFrame } from "../../../net/messages/frame.ts";
import type { Accept, Challenge, Hello, Refusal } from "../../../net/auth/hello_records.ts";

type Samples<M extends { readonly type: string }> = { readonly [T in M["type"]]: Extract<M, { readonly type: T }> };
type HelloRecord = Challenge | Hello | Accept | Refusal;
/** Hello and accept exist in two forms. */
type HelloSamples = Samples<HelloRecord> & { readonly helloByTicket: Hello; readonly acceptByTicket: Accept };
type Frames = Readonly<Record<"node" | "hub" | "hello", Readonly<Record<string, string>>>>;
export interface Vectors extends Frames {
  readonly protocol: number; // the PROTOCOL_VERSION of these bytes
}

export const vectorsPath = new URL("../../vectors/net/messages.json", import.meta.url);
const configPath = new URL("../../vectors/net/run_config.json", import.meta.url);

const parameters: BlobRef = { hash: blobHash("ab".repeat(32)), bytes: 1_234_567 };
const momentum: BlobRef = { hash: blobHash("01".repeat(32)), bytes: 0 };
const miner = nodeId("5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY");
const hub = nodeId("5FHneW46xGXgs5mUiveU4sbTyGBzmstUspZC92UhjJM694ty");
const task = taskId({ microbatch: microbatchId(70_000), stage: stageIndex(2), direction: "turnaround", attempt: 1 });
const hash = "89".repeat(32);
const signature = "0123456789abcdef".repeat(8);
const fault = { code: "badBlob", detail: "Cannot use a slice as it is missing – try again" } as const;
const source = { type: "blobs", parameters, momentum } as const;
const followed = { type: "blobs", parameters, momentum: null, merge: { from: hash, slices: [momentum] } } as const;

export const nodeSamples: Samples<NodeMessage> = {
  join: {
    type: "join",
    role: "miner",
    adapter: "llvmpipe (LLVM 15.0.6, 256 bits)",
    previousStage: null,
    holding: { assignment: 3, round: 2, step: 19, tasks: [task] },
    listens: "http://203.0.113.7:9010",
  },
  loading: { type: "loading", assignment: 3, part: "fetching", percent: 43 },
  ready: { type: "ready", assignment: 3, parameters },
  taskDone: { type: "taskDone", task, losses: [5.5, 0.1, 11], computeMs: 12.25 },
  loadFailed: { type: "loadFailed", assignment: 3, fault },
  taskFailed: { type: "taskFailed", task, fault },
  stepSealed: { type: "stepSealed", step: 200, request: 12, tasks: 8, gradientSquareSum: 0.037, root: hash, signature },
  stateShown: { type: "stateShown", round: 6, step: 200, change: parameters },
  payloadCommitted: {
    type: "payloadCommitted",
    round: 1,
    slices: [parameters, momentum],
    payload: hash,
    head: hash,
    signature,
  },
  sliceReduced: { type: "sliceReduced", round: 1, edition: 2, slice: 5, result: parameters },
  mergeApplied: { type: "mergeApplied", round: 2, parameters, momentum: null },
  parametersUploaded: { type: "parametersUploaded", round: 2, parameters, momentum },
  mergeFailed: { type: "mergeFailed", round: 2, fault },
  evaluated: { type: "evaluated", request: 65_536, loss: 3.25, tokens: 4_294_967_296, signature },
  replayed: { type: "replayed", request: 1, innovationError: 0.001, equalShare: 1, lossError: null, signature },
  gradientRepeated: { type: "gradientRepeated", request: 1, squareSum: 0.5, signature },
  requestFailed: { type: "requestFailed", request: 1, fault },
  askToLeave: { type: "askToLeave" },
  leaving: { type: "leaving", reason: "battery" },
};

export const hubSamples: Samples<HubMessage> = {
  welcome: { type: "welcome", config: sampleConfig(), layersOfStages: [1, 2, 1], isKept: true, shows: [7] },
  assign: {
    type: "assign",
    assignment: 3,
    stage: stageIndex(1),
    round: 0,
    source: { type: "initial" },
    peers: [{
      node: miner,
      url: "http://203.0.113.7:9010",
      pass: `1900000000000.${"ab".repeat(32)}.${"cd".repeat(32)}.${"ef".repeat(64)}`,
    }],
  },
  runTask: {
    type: "runTask",
    task,
    microbatch: microbatchId(70_000),
    stage: stageIndex(2),
    direction: "turnaround",
    step: 4,
  },
  cancelTasks: { type: "cancelTasks", tasks: [task] },
  sealStep: { type: "sealStep", round: 1, step: 4, request: 3, tasks: [task, task], delivered: [task] },
  applyStep: { type: "applyStep", step: 4, tasks: 2, learningRate: 0.003, clipFactor: 0.5, shows: true },
  startMerge: {
    type: "startMerge",
    round: 0,
    slices: [{ offset: 0, size: 64 }, { offset: 64, size: 128 }],
    contributes: true,
  },
  reduceSlice: {
    type: "reduceSlice",
    round: 0,
    edition: 1,
    slice: 1,
    inputs: [{ payload: parameters, weight: 0.5, scale: 0.25 }],
  },
  applyMerge: { type: "applyMerge", round: 0, slices: [parameters] },
  uploadParameters: { type: "uploadParameters", round: 1 },
  workReport: {
    type: "workReport",
    round: 3,
    miners: [miner, hub],
    units: [120, 0],
    expelled: [hub],
    forfeits: [{ miner, fromRound: 1 }],
    isLast: false,
  },
  evaluate: { type: "evaluate", request: 2, round: 1, sources: [followed, { type: "initial" }], isTrial: false },
  replay: {
    type: "replay",
    request: 3,
    round: 1,
    miner,
    task,
    stage: stageIndex(2),
    direction: "turnaround",
    losses: [5.5],
    source,
  },
  repeatGradient: {
    type: "repeatGradient",
    request: 4,
    round: 1,
    step: 7,
    miner,
    task,
    stage: stageIndex(2),
    direction: "turnaround",
    first: 8,
    isLast: true,
    source: { type: "moved", from: source, change: momentum },
  },
  gradientClaimed: { type: "gradientClaimed", request: 4, claimed: 0.5, least: 0.0000001 },
  leaveAnswered: { type: "leaveAnswered", isNeeded: true },
  notice: { type: "notice", about: "withheld", duty: "showing", round: 3 },
  reject: { type: "reject", fault },
  stop: { type: "stop", finished: true, reason: "all steps are done" },
};

const session = { session: "5e".repeat(32), received: 12 };

const share = "3e".repeat(32);
const ticket = "71".repeat(69);

const hello: Hello = {
  type: "hello",
  protocol: 5,
  run: "demo",
  role: "miner",
  node: miner,
  hub,
  hubNonce: "aa".repeat(32),
  nonce: "bb".repeat(32),
  timeMs: 1_700_000_000_123,
  process: "9a".repeat(32),
  resume: session,
  proof: { type: "signature", share, signature: "cc".repeat(64) },
};
const accept: Accept = {
  type: "accept",
  ...session,
  resumed: true,
  timeMs: 1_700_000_000_456,
  limits: { frameBytes: 4_194_304, headerBytes: 1_048_576 },
  proof: { type: "signature", share, ticket, signature: "dd".repeat(64) },
};

export const helloSamples: HelloSamples = {
  challenge: { type: "challenge", protocol: 5, run: "demo", hub, nonce: "aa".repeat(32) },
  hello,
  helloByTicket: { ...hello, proof: { type: "ticket", ticket, mac: "ee".repeat(32) } },
  accept,
  acceptByTicket: { ...accept, proof: { type: "ticket", mac: "ff".repeat(32) } },
  refusal: { type: "refusal", fault },
};

function sampleConfig() {
  const config = parseRunConfig(JSON.parse(Deno.readTextFileSync(configPath)));
  if (!config.ok) throw new Error(config.fault.detail);
  return config.value;
}

/** Each sample as a whole frame, in hexadecimal. */
export function frameSamples(samples: Readonly<Record<string, unknown>>): Record<string, string> {
  const frames = Object.entries(samples).map(([type, header]) => [type, encodeFrame({ header }).toHex()]);
  return Object.fromEntries(frames);
}

/** The vectors of now, in place of `frozen`. */
export function renewed(frozen: Vectors, now: Vectors): Vectors {
  const isSame = JSON.stringify(frozen) === JSON.stringify(now);
  assert(
    isSame || now.protocol > frozen.protocol,
    `Cannot write other bytes for protocol ${now.protocol}, which has vectors: raise PROTOCOL_VERSION (core/protocol/message.ts)`,
  );
  return now;
}

export const currentVectors = (): Vectors => ({
  protocol: PROTOCOL_VERSION,
  node: frameSamples(nodeSamples),
  hub: frameSamples(hubSamples),
  hello: frameSamples(helloSamples),
});

if (import.meta.main) {
  const frozen: Vectors = JSON.parse(Deno.readTextFileSync(vectorsPath));
  Deno.writeTextFileSync(vectorsPath, JSON.stringify(renewed(frozen, currentVectors()), null, 2) + "\n");
}
