/**
 * What anyone may read of a run. Published field names stay. Everything public is named here, so that a new field of
 * the view stays private. Private: paths, warnings' texts, devices, machines' addresses. Null: not measured yet.
 */

import {
  type ChecksView,
  type ConductView,
  type HeldOutPoint,
  type News,
  type NewsRecord,
  type NodeView,
  presentNodes,
  remainingMs,
  type RunView,
  type StageView,
  type TextSample,
  tokensPerSecond,
  type VerdictView,
  type WireCost,
} from "../../../core/view/view.ts";
import type { ByteKind } from "../../../core/view/curves.ts";
import type { PaceView } from "../../../core/view/pace.ts";
import { followedHops } from "../../../core/view/fold_flight.ts";
import type { PathwayHop, PathwayView } from "../../../core/view/pathways.ts";
import type { Series } from "../../../core/view/series.ts";
import { harmless } from "../../terminal/text/foreign_text.ts";
import { printable, shortAddress } from "../../terminal/text/format.ts";
import { newsLine } from "../screen/news_words.ts";
import { isLate, isReturn, reissuedClause } from "../screen/record_words.ts";

export const apiVersion = 1;

const sampleCharacters = 1_024;

export interface PublicMember {
  readonly role: NodeView["role"];
  readonly state: NodeView["state"];
  readonly stage: number | null;
  readonly loading: number | null; // percent of the current part
  readonly tasks: number;
}

/** Separate from the member: it changes seldom. */
export type PublicConduct = Readonly<ConductView>;

export type PublicPace = PaceView;

export interface PublicHop {
  readonly microbatch: number;
  readonly stage: number;
  readonly direction: "forward" | "backward";
}

/** Each value is the mean of `stride` steps; the last ends before `pending` newer ones. */
export interface PublicCurves {
  readonly stride: number;
  readonly pending: number;
  readonly tokensPerSecond: readonly (number | null)[];
  readonly miners: readonly (number | null)[]; // ready
  /** Over the port, both ways, per trained token. */
  readonly bytesPerToken: Readonly<Record<ByteKind, readonly (number | null)[]>>;
}

export interface PublicPathway {
  readonly microbatch: number;
  readonly step: number | null; // in which it counted, from 1; null: that step is open
  readonly hops: readonly Readonly<PathwayHop>[];
}

export type PublicChecks = Readonly<ChecksView>;

/** After `step` steps. */
export interface PublicSample {
  readonly round: number;
  readonly step: number;
  readonly loss: number | null; // held-out, nats per token
  readonly prompt: string;
  readonly text: string;
}

export interface PublicRun {
  readonly name: string;
  readonly size: string;
  readonly parameters: number;
  readonly phase: RunView["phase"];
  readonly isPaused: boolean; // the orchestrator's disk is full
  readonly isPausedByOwner: boolean;
  readonly roundsLost: number;
  readonly lostStages: readonly { readonly stage: number; readonly reason: string }[];
  readonly isHalted: boolean; // waits before it repeats that round
  readonly unserved: readonly number[];
  readonly startedAtMs: number;
  readonly step: number;
  readonly steps: number;
  readonly round: number;
  readonly remainingMs: number | null;
  readonly tokensPerSecond: number | null;
  readonly learningRate: number | null;
  /** Nats per token; see `PublicCurves`. */
  readonly losses: {
    readonly values: readonly (number | null)[];
    readonly stride: number;
    readonly pending: number;
    readonly first: number | null;
    readonly last: number | null;
  };
  readonly heldOut: readonly HeldOutPoint[];
  readonly curves: PublicCurves;
  readonly bytes: Readonly<Record<ByteKind, number>>;
  readonly flight: readonly PublicHop[]; // lowest-numbered ones of the open step
  readonly samples: readonly PublicSample[]; // ascending steps
  readonly stages: readonly StageView[];
  readonly memberCount: number;
  readonly reLeases: number;
  readonly wire: WireCost | null; // bytes per token
  readonly lastMerge: RunView["lastMerge"];
  readonly agreement: RunView["agreement"];
  readonly pathways: readonly PublicPathway[];
  readonly verdicts: { readonly passed: number; readonly failed: number; readonly last: VerdictView | null };
  readonly news: readonly PublicNews[];
}

export interface RunSnapshot {
  readonly version: typeof apiVersion;
  readonly sequence: number;
  readonly atMs: number;
  readonly run: PublicRun;
  readonly members: Readonly<Record<string, PublicMember>>; // lost ones until the next merge
  readonly conduct: Readonly<Record<string, PublicConduct>>; // only members with any
  readonly paces: Readonly<Record<string, PublicPace>>; // after a first task
  readonly validators: Readonly<Record<string, PublicChecks>>; // after a first check
}

export interface Moment {
  readonly sequence: number;
  readonly atMs: number;
}

export function runSnapshot(view: RunView, { sequence, atMs }: Moment): RunSnapshot {
  return {
    version: apiVersion,
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

const publicSample = ({ round, step, loss, prompt, text }: TextSample): PublicSample => ({
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

function publicCurves({ curves: { tokensPerSecond, miners, bytesPerToken } }: RunView): PublicCurves {
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

interface PublicNews {
  readonly atMs: number;
  readonly level: "info" | "warn";
  readonly text: string;
}

const textLength = 240;

function publicNews({ atMs, record }: News): PublicNews {
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
