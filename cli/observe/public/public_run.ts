/**
 * What anyone may read of a run. Published field names stay. Everything public is named here, so that a new field of
 * the view stays private. Private: paths, warnings' texts, devices, machines' addresses. Null: not measured yet.
 */

import {
  type News,
  type NewsRecord,
  type NodeView,
  presentNodes,
  remainingMs,
  type RunView,
  type TextSample,
  tokensPerSecond,
} from "../../../core/view/view.ts";
import { followedHops } from "../../../core/view/fold_flight.ts";
import type { PathwayView } from "../../../core/view/pathways.ts";
import type { Series } from "../../../core/view/series.ts";
import { harmless } from "../../terminal/text/foreign_text.ts";
import { printable, shortAddress } from "../../terminal/text/format.ts";
import { newsLine } from "../screen/news_words.ts";
import { isLate, isReturn, reissuedClause } from "../screen/record_words.ts";
import type {
  PublicChecks,
  PublicConduct,
  PublicMember,
  PublicPace,
  PublicPathway,
  PublicRun,
  RunSnapshot,
} from "./public_shape.ts";

const sampleCharacters = 1_024; // of a prompt or a text

interface Moment {
  readonly sequence: number;
  readonly atMs: number;
}

export function runSnapshot(view: RunView, { sequence, atMs }: Moment): RunSnapshot {
  return {
    version: 1,
    sequence,
    atMs,
    run: publicRun(view, atMs),
    members: publicMembers(view),
    conduct: publicConduct(view),
    paces: publicPaces(view),
    validators: publicChecks(view),
  };
}

function publicRun(view: RunView, nowMs: number): PublicRun {
  const { facts, phase, isPaused, isPausedByOwner, unserved, begunAtMs, step, round, learningRate, losses, heldOut } =
    view;
  const { stages, reLeases, wire, lastMerge, agreement, verdicts, news } = view;
  const left = remainingMs(view, nowMs);
  const speed = tokensPerSecond(view);
  return {
    name: printable(facts.run),
    size: printable(facts.size),
    parameters: facts.parameters,
    ...{ phase, isPaused, isPausedByOwner, unserved, startedAtMs: begunAtMs, step, steps: facts.steps, round },
    roundsLost: view.lostRounds.count,
    lostStages: view.lostRounds.stages.map(({ stage, reason }) => ({ stage, reason: printable(reason) })),
    isHalted: view.lostRounds.isHalted,
    remainingMs: left === null ? null : Math.max(0, Math.round(left)),
    tokensPerSecond: speed,
    learningRate,
    losses: {
      values: losses.values.map(rounded),
      stride: losses.stride,
      pending: losses.pending.count,
      first: view.lossFirst,
      last: view.lossLast,
    },
    heldOut,
    curves: publicCurves(view),
    bytes: view.bytes,
    flight: followedHops(view),
    samples: view.samples.map(publicSample),
    stages,
    memberCount: presentNodes(view).length,
    ...{ reLeases, wire, lastMerge, agreement },
    pathways: view.pathways.closed.map(publicPathway),
    verdicts,
    news: news.map(publicNews),
  };
}

const publicSample = ({ round, step, loss, prompt, text }: TextSample): PublicRun["samples"][number] => ({
  ...{ round, step, loss },
  prompt: harmless(prompt, sampleCharacters),
  text: harmless(text, sampleCharacters),
});

export const publicPathway = ({ microbatch, step, hops }: PathwayView): PublicPathway => ({
  microbatch,
  step,
  hops: hops.map(({ node, stage, direction, attempt, sentMs, tookMs, computeMs }) => (
    { node, stage, direction, attempt, sentMs, tookMs, computeMs }
  )),
});

function publicCurves({ curves: { tokensPerSecond, miners, bytesPerToken } }: RunView): PublicRun["curves"] {
  const { stride, pending } = miners;
  const coarse = ({ values }: Series) => values.map((value) => value === null ? null : Number(value.toPrecision(4)));
  const { wires, merge, parameters, control } = bytesPerToken;
  return {
    ...{ stride, pending: pending.count, tokensPerSecond: coarse(tokensPerSecond), miners: coarse(miners) },
    bytesPerToken: {
      ...{ wires: coarse(wires), merge: coarse(merge), parameters: coarse(parameters), control: coarse(control) },
    },
  };
}

/** To six digits, which halves the curve's bytes. */
const rounded = (value: number | null): number | null => value === null ? null : Number(value.toPrecision(6));

function publicMembers(view: RunView): Record<string, PublicMember> {
  const members: Record<string, PublicMember> = {};
  for (const { node, role, state, stage, loading, tasks } of nodesOf(view)) {
    members[node] = { role, state, stage, loading, tasks };
  }
  return members;
}

function publicConduct(view: RunView): Record<string, PublicConduct> {
  const conducts: Record<string, PublicConduct> = {};
  for (const { node, conduct: { released, late, outrun, faults, blamed, lastFault, audits } } of nodesOf(view)) {
    if (released + late + outrun + faults + blamed + audits.passed + audits.failed === 0) continue;
    const code = lastFault === null ? null : printable(lastFault);
    conducts[node] = { released, late, outrun, faults, blamed, lastFault: code, audits };
  }
  return conducts;
}

function publicPaces(view: RunView): Record<string, PublicPace> {
  const paces: Record<string, PublicPace> = {};
  for (const { node, pace } of nodesOf(view)) if (pace !== null) paces[node] = pace;
  return paces;
}

function publicChecks(view: RunView): Record<string, PublicChecks> {
  const validators: Record<string, PublicChecks> = {};
  for (const { node, checks } of nodesOf(view)) {
    if (checks === null) continue;
    const { passed, failed, evaluated, lastAtMs, lastFailed, lastLoss } = checks;
    validators[node] = { passed, failed, evaluated, lastAtMs, lastFailed, lastLoss };
  }
  return validators;
}

const nodesOf = (view: RunView): NodeView[] => Object.values(view.nodes);

const textLength = 240;

function publicNews({ atMs, record }: News): PublicRun["news"][number] {
  const { level, text } = newsLine(record);
  return { atMs, level, text: printable(withoutPrivate(record) ?? text).slice(0, textLength) };
}

/** Null: all of it is public. */
function withoutPrivate(record: NewsRecord): string | null {
  switch (record.type) {
    case "checkpointWritten":
      return `checkpoint of step ${record.step} written`;
    case "runPaused":
      return "the run is paused until the orchestrator's disk has room";
    case "warning":
    case "noted":
      return "a warning; its text is in the orchestrator's log";
    case "runFinished":
      return `run ${record.finished ? "ended" : "stopped"} at step ${record.step}`;
    case "nodeLost":
      return isReturn(record) ? null : `${shortAddress(record.node)} lost${reissuedClause(record.tasksReissued)}`;
    case "taskReleased":
      return `task ${record.task} taken back from ${shortAddress(record.node)}`;
    case "faultSeen":
      return isLate(record) ? null : `${whoOf(record.node)}: fault '${record.code}'`;
    case "blamed":
      return `${shortAddress(record.node)} is to blame: fault '${record.code}'`;
    default:
      return null;
  }
}

const whoOf = (node: string | null): string => node === null ? "a stranger" : shortAddress(node);
