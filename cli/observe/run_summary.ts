/** A run's summary, under stable field names, and its file. */

import { passesOver } from "../../core/data/microbatch.ts";
import type { OrchestratorState } from "../../core/orchestrator/state.ts";
import type { RunView } from "../../core/view/view.ts";
import type { Dataset } from "../model/data/dataset.ts";
import { type Disk, realDisk, writeAtomically } from "../files/disk.ts";
import { isDiskFull } from "../files/journal_error.ts";
import type { ByteKind } from "../../core/view/curves.ts";
import { bf16BytesPerToken, type Traffic } from "./traffic.ts";

interface RunSummaryInput {
  readonly state: OrchestratorState;
  readonly traffic: Traffic;
  readonly view: RunView;
  readonly dataset: Dataset;
  readonly folder: string;
  readonly startedMs: number;
  readonly firstStepAtMs: number | null;
  readonly endedMs: number;
  readonly begun: BegunAt;
  readonly isFinished: boolean; // all steps are done, the last parameters stored
  readonly trainedTokens: number;
}

export interface BegunAt {
  readonly step: number;
  readonly round: number;
  readonly merges: number; // at the start of the counters
  readonly isJournaled: boolean; // counters continue instead of starting at zero
}

const ofProcess = [
  ...["firstLossMs", "wallMs", "tokensPerSecond", "bytesPerTokenForward", "bytesPerTokenBackward"],
  ...["bytesPerTrainedToken", "wireBytes", "mergeBytes", "parameterBytes", "controlBytes"],
];
const counted = [
  ...["tokens", "lossFirst", "validationLossFirst", "mergeBytesPerMiner", "microbatchesLost", "reLeases", "roundsLost"],
  ...["speculations", "orchestratorRestarts", "stageHashesAgree", "verdictsPassed", "verdictsFailed"],
];

/** Null: not measured. */
interface RunSummary {
  readonly finished: boolean;
  readonly firstLossMs: number | null; // from program start to the first closed step
  readonly wallMs: number;
  readonly steps: number;
  readonly rounds: number; // merged
  readonly tokens: number;
  readonly tokensPerSecond: number | null;
  readonly lossFirst: number | null;
  readonly lossLast: number | null;
  readonly validationLossFirst: number | null;
  readonly validationLossLast: number | null;
  readonly validationLossDisputed: readonly number[] | null; // each validator's loss, where they disagree
  readonly validationBitsPerByte: number | null; // by the training split's bytes per token
  readonly unigramEntropy: number;
  readonly passes: number; // over the training text
  readonly bytesPerTokenForward: number | null; // on the socket, per boundary
  readonly bytesPerTokenBackward: number | null;
  readonly bytesPerTokenBf16: number;
  readonly bytesPerTrainedToken: number | null; // over the orchestrator's port, both ways
  readonly wireBytes: number; // tasks with their tensors
  readonly mergeBytes: number; // payloads and reduced slices
  readonly parameterBytes: number; // whole stages, reads of audits and evaluations
  readonly controlBytes: number;
  readonly mergeBytesPerMiner: number | null; // per round
  readonly mergeRounds: number;
  readonly parametersPerMiner: number;
  readonly microbatchesLost: number;
  readonly roundsLost: number; // steps repeated, or missing at the end
  readonly gradientsLost: number; // in no merge: their miner was lost or late
  readonly lostStages: readonly { stage: number; reason: string }[];
  readonly reLeases: number;
  readonly speculations: number; // tasks given to a second miner as well
  readonly orchestratorRestarts: number;
  readonly stageHashesAgree: boolean | null;
  readonly verdictsPassed: number;
  readonly verdictsFailed: number;
  readonly checkpoint: string | null;
  readonly run: string;
  readonly resumedAtStep: number | null; // null: at step 0
  readonly [key: string]: unknown;
}

export const hasLostRound = (summary: Readonly<Record<string, unknown>>): boolean =>
  Array.isArray(summary["lostStages"]) && summary["lostStages"].length > 0;

/** Fields that do not cover the whole of a resumed run. */
export function sessionFields({ isJournaled }: Pick<BegunAt, "isJournaled">): string[] {
  return isJournaled ? ofProcess : [...ofProcess, ...counted];
}

export function runSummary(input: RunSummaryInput): RunSummary {
  const { begun, state, traffic, trainedTokens, view, dataset, folder, startedMs, firstStepAtMs, endedMs } = input;
  const { counters, facts, config: { train, model } } = state;
  const open = state.work?.flows.length ?? 0;
  const heldOut = (facts.heldOutLast?.round ?? 0) > 0 ? facts.heldOutLast!.loss : null;
  const trainingMs = view.trainingSinceMs === null ? null : endedMs - view.trainingSinceMs;
  return {
    finished: input.isFinished,
    firstLossMs: firstStepAtMs === null ? null : firstStepAtMs - startedMs,
    wallMs: endedMs - startedMs,
    steps: state.step,
    rounds: counters.merges,
    tokens: counters.tokens,
    tokensPerSecond: trainingMs === null ? null : (trainedTokens * 1000) / trainingMs,
    lossFirst: facts.lossFirst,
    lossLast: facts.lossLast,
    validationLossFirst: facts.heldOutFirst,
    validationLossLast: heldOut,
    validationLossDisputed: facts.heldOutDisputed?.answers.map(({ loss }) => loss) ?? null,
    validationBitsPerByte: heldOut === null ? null : heldOut / Math.LN2 / dataset.manifest.bytesPerToken,
    unigramEntropy: dataset.manifest.unigramEntropy,
    passes: passesOver({
      ...{ steps: state.step, microbatchesPerStep: train.microbatchesPerStep, sequences: train.sequencesPerMicrobatch },
      ...{ contextLength: model.contextLength, tokens: dataset.manifest.train.tokens },
    }),
    bytesPerTokenForward: traffic.bytesPerToken("forward"),
    bytesPerTokenBackward: traffic.bytesPerToken("backward"),
    bytesPerTokenBf16: bf16BytesPerToken(state.config),
    ...portBytes(traffic.byKind, trainedTokens),
    mergeRounds: counters.merges,
    parametersPerMiner: state.stageFloats.reduce((sum, floats) => sum + floats, 0) / state.stageFloats.length,
    mergeBytesPerMiner: counters.mergeMiners === 0 ? null : counters.mergeBytes / counters.mergeMiners,
    microbatchesLost: counters.microbatchesIssued - counters.microbatchesCredited - open,
    roundsLost: counters.roundsLost,
    gradientsLost: counters.gradientsLost,
    lostStages: view.lostRounds.stages,
    reLeases: counters.reLeases,
    speculations: counters.speculations,
    orchestratorRestarts: counters.restarts,
    stageHashesAgree: counters.merges === begun.merges ? null : counters.disagreements === 0,
    verdictsPassed: facts.verdictsPassed,
    verdictsFailed: facts.verdictsFailed,
    checkpoint: state.sources.stages.some(({ type }) => type === "initial") // also after a lost round
      ? null
      : `${folder}/checkpoints/round-${String(state.sources.round).padStart(6, "0")}`,
    run: folder,
    resumedAtStep: begun.step === 0 ? null : begun.step,
  };
}

type PortBytes = Pick<
  RunSummary,
  "bytesPerTrainedToken" | "wireBytes" | "mergeBytes" | "parameterBytes" | "controlBytes"
>;

export function portBytes(moved: Readonly<Record<ByteKind, number>>, tokens: number): PortBytes {
  const { wires, merge, parameters, control } = moved;
  return {
    bytesPerTrainedToken: tokens === 0 ? null : (wires + merge + parameters + control) / tokens,
    wireBytes: wires,
    mergeBytes: merge,
    parameterBytes: parameters,
    controlBytes: control,
  };
}

/** Atomic: a full disk leaves the old summary. */
export async function saveSummary(
  summary: Record<string, unknown>,
  { folder, warn, disk = realDisk }: { folder: string; warn: (text: string) => void; disk?: Disk },
): Promise<void> {
  const path = `${folder}/summary.json`;
  try {
    const text = `${JSON.stringify(summary, null, 2)}\n`;
    await writeAtomically(path, { disk, chunks: [new TextEncoder().encode(text)] });
  } catch (error) {
    if (!isDiskFull(error)) throw error;
    warn(`The summary was not written to ${path} as the disk is full`);
  }
}

export async function savedSummary(folder: string): Promise<Record<string, unknown>> {
  try {
    const saved: unknown = JSON.parse(await Deno.readTextFile(`${folder}/summary.json`));
    return typeof saved === "object" && saved !== null && !Array.isArray(saved) ? { ...saved } : {};
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof Deno.errors.NotFound) return {};
    throw error;
  }
}
