/**
 * Folds one record of the run into the view a person sees.
 *
 * Pure in the project's sense: the same view, record and time give the same view, changed in place. A record about a stage the
 * run does not have changes nothing; a record about a node nobody introduced introduces it.
 */

import { unreachable } from "../../core/assert.ts";
import type { NodeId } from "../../core/ids.ts";
import type { RunRecord } from "../../core/protocol/record.ts";
import { decimal, duration, plural, printable, shortAddress } from "./format.ts";
import { isCompared, isReturn, reissuedClause, restoredText } from "./record_words.ts";
import { pushSeries } from "./series.ts";
import type { EventLine, Hop, NodeView, RunView } from "./view.ts";

const maxEvents = 6;
const recentStepCount = 16; // one more is kept, for its time

export function applyRecord(view: RunView, record: RunRecord, nowMs: number): void {
  const note = (text: string, level: EventLine["level"] = "info") => addEvent(view, { text, level, nowMs });
  switch (record.type) {
    case "runStarted":
      Object.assign(view, { phase: "training", step: record.step, stepAtStart: record.step, round: record.round });
      view.trainingSinceMs = nowMs;
      forgetFlight(view); // of an orchestrator that was killed
      view.recentSteps = [{ tokens: 0, closedAtMs: nowMs }];
      return note(`training begins with ${plural(record.miners, "miner")} on ${plural(record.stages, "stage")}`);
    case "nodeJoined":
    case "nodeAssigned":
    case "nodeLoading":
    case "nodeReady":
    case "nodeResumed":
    case "nodeMoved":
      return nodeChanged(view, record, nowMs);
    case "stageRestored":
      return note(restoredText(record), "warn");
    case "rewound":
      Object.assign(view, { step: record.toStep });
      return note(`all miners of the round are gone: back to step ${record.toStep}`, "warn");
    case "mergeRetaken":
      Object.assign(view, { step: record.step, round: record.round });
      return note(`the held-out loss jumped: back to step ${record.step}`, "warn");
    case "mergeLate":
      return note(`stage ${record.stage} goes on without ${shortAddress(record.node)} (${record.phase})`, "warn");
    case "resumed":
      return resumed(view, record, nowMs);
    case "nodeLost":
      nodeOf(view, record.node).state = "lost";
      return note(lostText(record), isReturn(record) ? "info" : "warn");
    case "taskReleased":
      view.reLeases += 1;
      return note(`task ${record.task} taken back from ${shortAddress(record.node)}: ${record.reason}`, "warn");
    case "taskFinished":
      nodeOf(view, record.node).tasks += 1;
      return moveMicrobatch(view, record);
    case "stepClosed":
      return stepClosed(view, record, nowMs);
    case "mergePhase":
      return mergePhase(view, record);
    case "sliceDisputed":
      return note(disputeText(record), "warn");
    case "roundMerged":
      return roundMerged(view, record, nowMs);
    case "checkpointWritten":
      return note(`checkpoint of step ${record.step} written to ${record.folder}`);
    case "evaluated":
      view.validation = [...view.validation.slice(0, 1), { round: record.round, loss: record.loss }];
      return;
    case "verdict":
      return verdict(view, record, nowMs);
    case "faultSeen":
      return note(`${record.node === null ? "a stranger" : shortAddress(record.node)}: ${record.detail}`, "warn");
    case "runContinued":
      return note(`the run goes on after ${duration(record.pausedMs)}: the disk has room again`);
    case "blamed":
      return note(`${shortAddress(record.node)} is to blame: ${record.detail}`, "warn");
    case "runPaused":
    case "warning":
      return note(record.text, "warn");
    case "runFinished":
      view.phase = "finished";
      return note(`run ended at step ${record.step}: ${record.reason}`, record.finished ? "info" : "warn");
    default:
      return unreachable(record);
  }
}

type Of<Type extends RunRecord["type"]> = Extract<RunRecord, { type: Type }>;

function lostText(record: Of<"nodeLost">): string {
  return `${shortAddress(record.node)} ${isReturn(record) ? "back" : "lost"}: ${record.reason}${
    reissuedClause(record.tasksReissued)
  }`;
}

function disputeText({ slice, stage, liar }: Of<"sliceDisputed">): string {
  const blame = liar === null ? "nobody could be named" : `${shortAddress(liar)} is excluded`;
  return `slice ${slice} of stage ${stage} was reduced to different results: ${blame}`;
}

/** Puts a line under the panels; the oldest makes room. */
export function addEvent(view: RunView, event: { text: string; level: EventLine["level"]; nowMs: number }): void {
  const { text, level, nowMs } = event;
  view.events.push({ text: printable(text), level, atMs: nowMs - view.startedAtMs });
  if (view.events.length > maxEvents) view.events.shift();
}

function nodeOf(view: RunView, node: NodeId): NodeView {
  const known = view.nodes.get(node);
  if (known !== undefined) return known;
  const met: NodeView = { node, role: "miner", state: "loading", stage: null, loading: null, tasks: 0 };
  view.nodes.set(node, met);
  return met;
}

function nodeChanged(
  view: RunView,
  record: Of<"nodeJoined" | "nodeAssigned" | "nodeLoading" | "nodeReady" | "nodeResumed" | "nodeMoved">,
  nowMs: number,
): void {
  const note = (text: string) => addEvent(view, { text, level: "info", nowMs });
  switch (record.type) {
    case "nodeJoined":
      view.nodes.set(record.node, {
        node: record.node,
        role: record.role,
        state: "loading",
        stage: null,
        loading: null,
        tasks: 0,
      });
      return;
    case "nodeAssigned":
      Object.assign(nodeOf(view, record.node), { stage: record.stage, state: "loading", loading: null });
      return;
    case "nodeLoading":
      Object.assign(nodeOf(view, record.node), { stage: record.stage, state: "loading", loading: record.percent });
      return;
    case "nodeReady":
      return nodeReady(view, record, nowMs);
    case "nodeResumed":
      Object.assign(nodeOf(view, record.node), { stage: record.stage, state: "ready", loading: null });
      return note(
        `${shortAddress(record.node)} is back with what it had; ${plural(record.tasksReissued, "task")} again`,
      );
    case "nodeMoved":
      Object.assign(nodeOf(view, record.node), { stage: record.to, state: "loading" });
      return note(`${shortAddress(record.node)} moves from stage ${record.from} to ${record.to}, which needs it more`);
  }
}

/** The orchestrator is back; what it had counted stays, its pace is measured anew. */
function resumed(view: RunView, record: Of<"resumed">, nowMs: number): void {
  Object.assign(view, { step: record.step, stepAtStart: record.step, round: record.round });
  if (record.step > 0) view.phase = "training";
  view.trainingSinceMs = nowMs;
  view.recentSteps = [{ tokens: 0, closedAtMs: nowMs }];
  const text = `the orchestrator is back at step ${record.step} and waits for ${plural(record.nodes, "node")}`;
  addEvent(view, { text, level: "info", nowMs });
}

function nodeReady(view: RunView, record: Of<"nodeReady">, nowMs: number): void {
  Object.assign(nodeOf(view, record.node), { stage: record.stage, state: "ready", loading: null });
  if (view.phase === "gathering") return; // before the start everybody is new, which is no news
  addEvent(view, { text: `${shortAddress(record.node)} joined stage ${record.stage}`, level: "info", nowMs });
}

/** Follows a microbatch from hop to hop; where it waits is what the lanes show as in flight. */
function moveMicrobatch(view: RunView, { microbatch, stage, direction }: Of<"taskFinished">): void {
  const lane = (hop: Hop | undefined) => hop === undefined ? undefined : view.stages[hop.stage];
  const before = view.hops.get(microbatch);
  const from = lane(before);
  if (before !== undefined && from !== undefined) from[before.direction] -= 1;
  const next: Hop = direction === "forward"
    ? { stage: stage + 1, direction: "forward" }
    : { stage: stage - 1, direction: "backward" };
  const to = lane(next);
  if (to === undefined) {
    view.hops.delete(microbatch);
    return;
  }
  to[next.direction] += 1;
  view.hops.set(microbatch, next);
}

function stepClosed(view: RunView, record: Of<"stepClosed">, nowMs: number): void {
  Object.assign(view, { phase: "training", step: record.step, round: record.round, learningRate: record.learningRate });
  view.lossFirst ??= record.loss;
  view.lossLast = record.loss;
  pushSeries(view.losses, record.loss);
  view.recentSteps = [...view.recentSteps, { tokens: record.tokens, closedAtMs: nowMs }].slice(-recentStepCount - 1);
  forgetFlight(view);
}

function forgetFlight(view: RunView): void {
  view.hops.clear();
  for (const stage of view.stages) Object.assign(stage, { forward: 0, backward: 0 });
}

function mergePhase(view: RunView, record: Of<"mergePhase">): void {
  const stage = view.stages[record.stage];
  if (stage === undefined) return;
  stage.merge = record.phase;
  view.phase = "merging";
}

function roundMerged(view: RunView, record: Of<"roundMerged">, nowMs: number): void {
  const { round, bytesPerMiner, mergeMs } = record;
  const agree = record.stages.every((stage) => stage.agree);
  Object.assign(view, {
    phase: "training",
    round,
    lastMerge: { round, bytesPerMiner, mergeMs, agree: isCompared(record) ? agree : null },
  });
  for (const stage of view.stages) stage.merge = null;
  for (const node of view.nodes.values()) {
    if (node.state === "lost") view.nodes.delete(node.node);
  }
  if (agree) return;
  const split = record.stages.filter((stage) => !stage.agree).map((stage) => stage.stage);
  addEvent(view, {
    text: `round ${round} began with different hashes on stage ${split.join(", ")}`,
    level: "warn",
    nowMs,
  });
}

function verdict(view: RunView, record: Of<"verdict">, nowMs: number): void {
  const { miner, stage, passed, innovationError, tolerance, lossError } = record;
  view.verdicts.last = { miner, stage, passed, innovationError, tolerance, lossError };
  view.verdicts[passed ? "passed" : "failed"] += 1;
  if (passed) return;
  const error = `innovation error ${decimal(innovationError)}, allowed ${decimal(tolerance)}`;
  addEvent(view, {
    text: `${shortAddress(miner)} failed the replay of ${record.task}: ${error}`,
    level: "warn",
    nowMs,
  });
}
