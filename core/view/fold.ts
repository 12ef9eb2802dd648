/**
 * Folds a record of a run into its view, in place. No order of records throws: one about an unknown stage or of an
 * unknown type changes nothing, one about an unknown node adds it.
 */

import { noteCheck } from "./fold_checks.ts";
import { notePace } from "./fold_pace.ts";
import { cutCurves, noteBytes, noteStep } from "./fold_curves.ts";
import { noteConduct } from "./fold_conduct.ts";
import { forgetFlight, moveMicrobatch } from "./fold_flight.ts";
import { forgetHeldOutAfter, noteHeldOut, noteRoundStart } from "./fold_held_out.ts";
import { forgetSamplesAfter, noteSample, noteSampleLoss } from "./fold_samples.ts";
import { closePathways, forgetOpenPathways, noteHop } from "./fold_pathways.ts";
import { changeNode, forgetLost, isOfNode, nodeOf, takeUpNodes } from "./fold_nodes.ts";
import { pushSeries } from "./series.ts";
import { type NewsRecord, newsTypes, type RunView, stagesOf } from "./view.ts";
import { isCompared, type RecordOf, type StampedRecord, type ViewRecord } from "./view_record.ts";

const newsCount = 48;
const agreementCount = 12; // merges
const recentStepCount = 16; // plus one, for its time

export function fold(view: RunView, { record, atMs }: Pick<StampedRecord, "record" | "atMs">): void {
  change(view, record, atMs);
  if (isNews(view, record)) addNews(view, record, atMs);
}

function change(view: RunView, record: ViewRecord, atMs: number): void {
  if (isOfNode(record)) return changeNode(view, record);
  switch (record.type) {
    case "opened":
      return opened(view, record);
    case "takenUp":
      return takenUp(view, record);
    case "deviceFound":
      view.facts = { ...view.facts, device: record.device };
      return;
    case "wire":
    case "chain":
      return measured(view, record);
    case "bytesMoved":
      return noteBytes(view, record);
    case "textSampled":
      return noteSample(view, record);
    case "runStarted":
      return runStarted(view, record, atMs);
    case "resumed":
      return resumed(view, record, atMs);
    case "taskReleased":
      view.reLeases += 1;
      return noteConduct(view, record, atMs);
    case "taskFinished":
      return taskFinished(view, record);
    case "stepClosed":
      return stepClosed(view, record, atMs);
    case "rewound":
      return rewound(view, record);
    case "mergeRetaken":
      return mergeRetaken(view, record);
    case "mergePhase":
      return mergePhase(view, record);
    case "roundMerged":
      return roundMerged(view, record);
    case "evaluated":
      noteCheck(view, record, atMs);
      return evaluated(view, record);
    case "verdict":
      return verdict(view, record, atMs);
    case "runPaused":
    case "runContinued":
    case "trainingHalted":
    case "trainingRetried":
    case "ownerActed":
    case "stagesUnserved":
      return halted(view, record);
    case "runFinished":
      view.phase = record.finished ? "finished" : "stopped";
      return;
    case "mergeLate":
    case "faultSeen":
    case "blamed":
      return noteConduct(view, record, atMs);
    case "stageRestored":
    case "roundEndsEarly":
    case "sliceDisputed":
    case "checkpointWritten":
    case "warning":
    case "noted":
      return; // only news
    default:
      return unknownType(record);
  }
}

/** Every type of this version is handled above, or this does not compile. */
function unknownType(_record: never): void {}

const news: ReadonlySet<string> = new Set(newsTypes);

function isNews(view: RunView, record: ViewRecord): record is NewsRecord {
  if (record.type === "nodeReady") return view.phase !== "gathering"; // before, every node is new
  if (record.type === "verdict") return !record.passed;
  if (record.type === "roundMerged") return !record.stages.every((stage) => stage.agree);
  return news.has(record.type);
}

/** News goes through JSON, so that a view read from a log is the same. */
function addNews(view: RunView, record: NewsRecord, atMs: number): void {
  view.news.push({ atMs, record: JSON.parse(JSON.stringify(record)) });
  if (view.news.length > newsCount) view.news.shift();
}

/** A new process displays the run: counts stay, but its nodes are unknown. */
function opened(view: RunView, { facts, startedAtMs, step }: RecordOf<"opened">): void {
  const stages = stagesOf(facts);
  const begun: Partial<RunView> = {
    facts,
    begunAtMs: view.begunAtMs === 0 ? startedAtMs : view.begunAtMs,
    startedAtMs,
    step,
    stages,
    phase: "gathering",
    isPaused: false,
    isPausedByOwner: false,
    unserved: [],
  };
  view.lostRounds.isHalted = false;
  Object.assign(view, { ...begun, stepAtStart: 0, trainingSinceMs: null, recentSteps: [], news: [] });
  forgetFlight(view);
  forgetOpenPathways(view.pathways);
  takeUpNodes(view, []);
}

function takenUp(view: RunView, { step, round, phase, nodes }: RecordOf<"takenUp">): void {
  Object.assign(view, { step, round, stepAtStart: step });
  cutCurves(view, step);
  if (phase !== undefined) view.phase = phase;
  if (nodes !== undefined) takeUpNodes(view, nodes);
}

function halted(
  view: RunView,
  record: RecordOf<
    "runPaused" | "runContinued" | "trainingHalted" | "trainingRetried" | "ownerActed" | "stagesUnserved"
  >,
): void {
  switch (record.type) {
    case "stagesUnserved":
      view.unserved = record.stages.filter((stage) => view.stages[stage] !== undefined);
      return;
    case "runPaused":
    case "runContinued":
      view.isPaused = record.type === "runPaused";
      return;
    case "trainingHalted":
    case "trainingRetried":
      view.lostRounds.isHalted = record.type === "trainingHalted";
      return;
    case "ownerActed":
      if (record.action === "pause" || record.action === "resume") view.isPausedByOwner = record.action === "pause";
  }
}

function measured(view: RunView, record: RecordOf<"wire" | "chain">): void {
  if (record.type === "wire") {
    const { forwardBytes, backwardBytes, bf16Bytes } = record;
    view.wire = { forwardBytes, backwardBytes, bf16Bytes };
  } else {
    const { block, weightsSet, epochs, minersRao } = record;
    view.chain = { block, weightsSet, epochs, minersRao };
  }
}

function runStarted(view: RunView, { step, round }: RecordOf<"runStarted">, atMs: number): void {
  Object.assign(view, { phase: "training", step, stepAtStart: step, round });
  forgetFlight(view); // of a killed orchestrator
  forgetOpenPathways(view.pathways);
  restartPace(view, atMs);
}

/** The orchestrator is back. */
function resumed(view: RunView, { step, round }: RecordOf<"resumed">, atMs: number): void {
  Object.assign(view, { step, stepAtStart: step, round });
  if (step > 0 && view.phase === "gathering") view.phase = "training";
  restartPace(view, atMs);
}

function restartPace(view: RunView, atMs: number): void {
  view.trainingSinceMs = atMs;
  view.recentSteps = [{ tokens: 0, closedAtMs: atMs }];
}

function taskFinished(view: RunView, record: RecordOf<"taskFinished">): void {
  const node = nodeOf(view, record.node);
  if (node !== null) {
    node.tasks += 1;
    notePace(node, record);
  }
  moveMicrobatch(view, record);
  noteHop(view, record);
}

function stepClosed(view: RunView, record: RecordOf<"stepClosed">, atMs: number): void {
  const { step, round, learningRate, tokens } = record;
  Object.assign(view, { phase: "training", step, round, learningRate });
  const loss = finite(record.loss);
  view.lossFirst ??= loss;
  view.lossLast = loss ?? view.lossLast;
  pushSeries(view.losses, loss);
  noteStep(view, { tokens, atMs });
  view.recentSteps = [...view.recentSteps, { tokens, closedAtMs: atMs }].slice(-recentStepCount - 1);
  closePathways(view, step);
  forgetFlight(view);
}

function rewound(view: RunView, { toStep }: RecordOf<"rewound">): void {
  view.step = toStep;
  cutCurves(view, toStep);
  forgetOpenPathways(view.pathways);
  forgetHeldOutAfter(view, toStep);
  forgetSamplesAfter(view, toStep);
}

function mergeRetaken(view: RunView, { step, round, because, stages = [] }: RecordOf<"mergeRetaken">): void {
  if (because === "payloadMissing" || (because === "parametersLost" && stages.length > 0)) {
    view.lostRounds.count += 1;
    view.lostRounds.stages = stages.map(({ stage, reason }) => ({ stage, reason }));
  }
  Object.assign(view, { phase: "training", step, round });
  for (const stage of view.stages) stage.merge = null;
  cutCurves(view, step);
  forgetOpenPathways(view.pathways);
  forgetHeldOutAfter(view, step);
  forgetSamplesAfter(view, step);
}

function evaluated(view: RunView, { round, loss }: RecordOf<"evaluated">): void {
  if (!Number.isFinite(loss)) return;
  view.validation = [...view.validation.slice(0, 1), { round, loss }];
  noteHeldOut(view, { round, loss });
  noteSampleLoss(view, { round, loss });
}

function mergePhase(view: RunView, { stage, phase }: RecordOf<"mergePhase">): void {
  const shown = view.stages[stage];
  if (shown === undefined) return;
  shown.merge = phase;
  view.phase = "merging";
}

function roundMerged(view: RunView, record: RecordOf<"roundMerged">): void {
  const { round, mergeMs, stages } = record;
  const bytesPerMiner = finite(record.bytesPerMiner) ?? 0;
  const agree = isCompared(record) ? stages.every((stage) => stage.agree) : null;
  Object.assign(view, { phase: "training", round, lastMerge: { round, bytesPerMiner, mergeMs, agree } });
  view.agreement.push({ round, stages: stages.map(({ replicas, agree }) => replicas > 1 ? agree : null) });
  if (view.agreement.length > agreementCount) view.agreement.shift();
  for (const stage of view.stages) stage.merge = null;
  view.lostRounds.stages = [];
  noteRoundStart(view, { round, step: view.step });
  forgetLost(view);
}

function verdict(view: RunView, record: RecordOf<"verdict">, atMs: number): void {
  noteCheck(view, record, atMs);
  noteConduct(view, record, atMs);
  const { miner, stage, passed, innovationError, tolerance, lossError } = record;
  view.verdicts[passed ? "passed" : "failed"] += 1;
  view.verdicts.last = {
    miner,
    stage,
    passed,
    innovationError: finite(innovationError),
    tolerance: finite(tolerance),
    lossError: finite(lossError),
  };
}

const finite = (value: number | null): number | null => Number.isFinite(value) ? value : null;
