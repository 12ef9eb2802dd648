/** The summary of a run: what was measured, under stable names, and the file that keeps it. */

import type { OrchestratorState } from "../../core/orchestrator/state.ts";
import type { RunView } from "../../core/view/view.ts";
import type { Dataset } from "../model/data/dataset.ts";
import { type Disk, realDisk, writeAtomically } from "../files/disk.ts";
import { isDiskFull } from "../files/journal_error.ts";
import type { ByteKind } from "../../core/view/curves.ts";
import { bf16BytesPerToken, type Traffic } from "./traffic.ts";

export interface RunSummaryInput {
  readonly state: OrchestratorState;
  readonly traffic: Traffic;
  readonly view: RunView;
  readonly dataset: Dataset;
  readonly folder: string;
  readonly startedMs: number;
  readonly firstStepAtMs: number | null;
  readonly endedMs: number;
  readonly begun: BegunAt;
  readonly isFinished: boolean; // all steps are done, and the parameters of the last merge are stored
  readonly trainedTokens: number; // in this process
}

export interface BegunAt {
  readonly step: number;
  readonly round: number;
  readonly merges: number; // that the counters begin with
  readonly isJournaled: boolean; // then the counters continue; otherwise they start at zero
}

const ofProcess = [
  ...["firstLossMs", "wallMs", "tokensPerSecond", "bytesPerTokenForward", "bytesPerTokenBackward"],
  ...["bytesPerTrainedToken", "wireBytes", "mergeBytes", "parameterBytes", "controlBytes"],
];
const counted = [
  ...["tokens", "lossFirst", "validationLossFirst", "mergeBytesPerMiner", "microbatchesLost", "reLeases", "roundsLost"],
  ...["speculations", "orchestratorRestarts", "stageHashesAgree", "verdictsPassed", "verdictsFailed"],
];

/** A number of nats or milliseconds is null where nothing was measured. */
export interface RunSummary {
  readonly finished: boolean;
  readonly firstLossMs: number | null; // from the start of the program to the first closed step
  readonly wallMs: number;
  readonly steps: number;
  readonly rounds: number; // merged
  readonly tokens: number;
  readonly tokensPerSecond: number | null; // while training, merges included
  readonly lossFirst: number | null;
  readonly lossLast: number | null;
  readonly validationLossFirst: number | null;
  readonly validationLossLast: number | null;
  readonly validationLossDisputed: readonly number[] | null; // each validator's loss, where they disagree and none settles it
  readonly validationBitsPerByte: number | null; // of text, at the training split's bytes per token: tokenizers compare by it
  readonly unigramEntropy: number;
  readonly bytesPerTokenForward: number | null; // on the socket, per boundary
  readonly bytesPerTokenBackward: number | null;
  readonly bytesPerTokenBf16: number; // the same boundary uncompressed
  readonly bytesPerTrainedToken: number | null; // all that crossed the orchestrator's port, both ways
  readonly wireBytes: number; // of that: tasks with their tensors
  readonly mergeBytes: number; // payloads and reduced slices
  readonly parameterBytes: number; // whole stages, and what audits and evaluations read
  readonly controlBytes: number; // all other messages
  readonly mergeBytesPerMiner: number | null; // uploaded per round
  readonly mergeRounds: number; // the same
  readonly parametersPerMiner: number; // of a stage, on average
  readonly microbatchesLost: number;
  readonly roundsLost: number; // their steps were repeated, or are missing where the run has ended
  readonly gradientsLost: number; // that no merge contained: their miner was lost or late
  readonly lostStages: readonly { stage: number; reason: string }[]; // of the last round, where it was lost
  readonly reLeases: number;
  readonly speculations: number; // tasks given to a second miner while the first was still working
  readonly orchestratorRestarts: number;
  readonly stageHashesAgree: boolean | null; // null before the first merge
  readonly verdictsPassed: number;
  readonly verdictsFailed: number;
  readonly checkpoint: string | null;
  readonly run: string;
  readonly resumedAtStep: number | null; // null: it began at step 0
  readonly [key: string]: unknown;
}

/** A stop that was asked for is in order unless the run stopped in a round that it had lost. */
export const hasLostRound = (summary: Readonly<Record<string, unknown>>): boolean =>
  Array.isArray(summary["lostStages"]) && summary["lostStages"].length > 0;

/** For the table: fields that do not cover the whole run if it was resumed. */
export function sessionFields({ isJournaled }: Pick<BegunAt, "isJournaled">): string[] {
  return isJournaled ? ofProcess : [...ofProcess, ...counted];
}

export function runSummary(input: RunSummaryInput): RunSummary {
  const { begun, state, traffic, trainedTokens, view, dataset, folder, startedMs, firstStepAtMs, endedMs } = input;
  const { counters, facts } = state;
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
    checkpoint: state.sources.stages.some(({ type }) => type === "initial") // also of a later round, after one was lost
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

/** `moved`: bytes over the port, both ways, while these tokens were trained. */
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

/** Written whole or not at all: on a full disk the folder keeps its summary. */
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

/** Of the run's last life in this folder. */
export async function savedSummary(folder: string): Promise<Record<string, unknown>> {
  try {
    const saved: unknown = JSON.parse(await Deno.readTextFile(`${folder}/summary.json`));
    return typeof saved === "object" && saved !== null && !Array.isArray(saved) ? { ...saved } : {};
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof Deno.errors.NotFound) return {};
    throw error;
  }
}
