/** The state of a node as its own screen shows it, folded from its events. Its size is bounded. */

import type { LoadingPart } from "../../../core/protocol/message.ts";
import type { Notice } from "../../../core/protocol/notice.ts";
import type { NodeEvent } from "./node_event.ts";

const recentMs = 60_000;
const mostRecent = 4_096; // tasks of that time
const mostRounds = 8;
const mostLosses = 64;
const noticeRounds = 8; // that one stays on the screen

export interface LoadingView {
  readonly part: LoadingPart;
  readonly bytes: number;
  readonly totalBytes: number;
  readonly sinceMs: number; // wall clock
  readonly sinceBytes: number;
}

export type Doing =
  | { readonly type: "starting" }
  | { readonly type: "waitingForHub"; readonly reason: string; readonly sinceMs: number }
  | { readonly type: "waitingForStage" }
  | { readonly type: "loading"; readonly loading: LoadingView | null }
  | { readonly type: "working" }
  | { readonly type: "idle"; readonly sinceMs: number }
  | { readonly type: "resting"; readonly reason: string }
  | { readonly type: "benched"; readonly untilRound: number }
  | { readonly type: "behind"; readonly notice: Extract<Notice, { about: "behind" }> }
  | { readonly type: "deviceLost"; readonly reason: string };

type PayNotice = Extract<Notice, { about: "withheld" | "forfeit" }>;
type StandstillNotice = Extract<Notice, { about: "standstill" }>;

interface RoundRow {
  readonly round: number;
  tasks: number;
  steps: number;
  computeMs: number;
}

export interface NodeScreenView {
  readonly role: "miner" | "validator";
  readonly startedAtMs: number;
  device: string | null;
  run:
    | { readonly name: string; readonly size: string; readonly netuid: number | null; readonly network: string }
    | null;
  doing: Doing;
  linkedAtMs: number | null; // null: no link
  stage: number | null;
  round: number | null;
  step: number | null;
  tasks: number;
  steps: number;
  merges: number;
  computeMs: number;
  recent: { readonly atMs: number; readonly direction: string; readonly computeMs: number }[];
  rounds: RoundRow[]; // the newest, oldest first
  notice: PayNotice | null;
  failedUpload: Of<"uploadFailed"> | null; // since the last merge
  standstill: StandstillNotice | null; // null: the run goes on
  deviceLosses: number;
  chain: Extract<NodeEvent, { type: "chainHealth" }> | null;
  weightsBlock: number | null;
  losses: number[]; // of held-out text, a validator's
  evaluations: number;
  audits: { passed: number; failed: number; last: { readonly miner: string; readonly passed: boolean } | null };
}

export const openNodeView = (role: NodeScreenView["role"], startedAtMs: number): NodeScreenView => ({
  role,
  startedAtMs,
  device: null,
  run: null,
  doing: { type: "starting" },
  linkedAtMs: null,
  stage: null,
  round: null,
  step: null,
  tasks: 0,
  steps: 0,
  merges: 0,
  computeMs: 0,
  recent: [],
  rounds: [],
  notice: null,
  failedUpload: null,
  standstill: null,
  deviceLosses: 0,
  chain: null,
  weightsBlock: null,
  losses: [],
  evaluations: 0,
  audits: { passed: 0, failed: 0, last: null },
});

export function foldNode(view: NodeScreenView, event: NodeEvent, atMs: number): void {
  switch (event.type) {
    case "device":
      view.device = event.name;
      return;
    case "deviceLost":
      view.deviceLosses = event.losses;
      view.doing = { type: "deviceLost", reason: event.reason };
      return;
    case "chainHealth":
      view.chain = { ...view.chain, ...event };
      return;
    case "weightsLanded":
      if (event.purpose === "set") view.weightsBlock = event.block;
      return;
    case "joined":
    case "welcomed":
    case "offline":
    case "waiting":
    case "paused":
    case "resumed":
      return foldLink(view, event, atMs);
    case "stageAssigned":
    case "stageLoading":
    case "stageLoaded":
    case "stageRebuilt":
    case "loadFailed":
    case "kept":
      return foldStage(view, event, atMs);
    case "uploadFailed":
      view.failedUpload = event;
      return;
    case "notice":
      return foldNotice(view, event);
    case "idle":
      view.doing = event.isOver ? { type: "working" } : { type: "idle", sinceMs: atMs - event.idleMs };
      return;
    case "taskComputed":
    case "stepApplied":
    case "roundMerged":
      return foldWork(view, event, atMs);
    case "evaluated":
    case "verdict":
    case "scored":
      return foldChecks(view, event);
  }
}

function foldNotice(view: NodeScreenView, notice: Notice): void {
  if (notice.about === "rival") return; // it has its own line
  if (notice.about === "standstill") view.standstill = notice.why === null ? null : notice;
  else if (notice.about === "behind") view.doing = { type: "behind", notice };
  else if (notice.about !== "rest") view.notice = notice;
  else if (view.doing.type !== "loading") {
    Object.assign(view, { stage: null, doing: { type: "benched", untilRound: notice.untilRound } });
  }
}

type Of<Type extends NodeEvent["type"]> = Extract<NodeEvent, { type: Type }>;

function foldLink(
  view: NodeScreenView,
  event: Of<"joined" | "welcomed" | "offline" | "waiting" | "paused" | "resumed">,
  atMs: number,
): void {
  switch (event.type) {
    case "joined":
      view.linkedAtMs = atMs;
      if (view.role === "validator") view.doing = { type: "working" };
      else if (view.stage === null || !event.resumed) view.doing = { type: "waitingForStage" };
      else view.doing = { type: "working" };
      return;
    case "welcomed": {
      const { name, size, chain } = event;
      const isPaid = chain.network !== "none";
      view.run = { name, size, network: chain.network, netuid: isPaid ? chain.netuid : null };
      return;
    }
    case "offline":
      view.linkedAtMs = null;
      view.standstill = null;
      view.doing = { type: "waitingForHub", reason: "the link is lost; reconnecting", sinceMs: atMs };
      return;
    case "waiting":
      view.linkedAtMs = null;
      view.doing = { type: "waitingForHub", reason: event.reason, sinceMs: atMs - event.waitedMs };
      return;
    case "paused":
      view.linkedAtMs = null;
      view.stage = null;
      view.doing = { type: "resting", reason: event.reason };
      return;
    case "resumed":
      view.doing = { type: "starting" };
      return;
  }
}

function foldStage(
  view: NodeScreenView,
  event: Of<"stageAssigned" | "stageLoading" | "stageLoaded" | "stageRebuilt" | "loadFailed" | "kept">,
  atMs: number,
): void {
  switch (event.type) {
    case "stageAssigned":
      Object.assign(view, { stage: event.stage, round: event.round, doing: { type: "loading", loading: null } });
      return;
    case "stageLoading": {
      const { part, bytes, totalBytes } = event;
      const before = view.doing.type === "loading" ? view.doing.loading : null;
      const { sinceMs, sinceBytes } = before?.part === part ? before : { sinceMs: atMs, sinceBytes: bytes };
      view.doing = { type: "loading", loading: { part, bytes, totalBytes, sinceMs, sinceBytes } };
      return;
    }
    case "loadFailed":
      Object.assign(view, { stage: null, doing: { type: "waitingForStage" } });
      return;
    case "kept":
    case "stageLoaded":
      Object.assign(view, { stage: event.stage, round: event.round, doing: { type: "working" } });
      return;
    case "stageRebuilt":
      view.doing = { type: "working" };
      return;
  }
}

function foldWork(view: NodeScreenView, event: Of<"taskComputed" | "stepApplied" | "roundMerged">, atMs: number): void {
  if (event.type === "roundMerged") {
    view.merges += 1;
    view.failedUpload = null;
    view.round = event.round;
    if (view.notice !== null && event.round > roundOf(view.notice) + noticeRounds) view.notice = null;
    return;
  }
  if (event.type === "stepApplied") {
    view.steps += 1;
    view.step = event.step;
    rowOf(view).steps += 1;
    return;
  }
  const { direction } = event;
  const computeMs = Number.isFinite(event.computeMs) ? event.computeMs : 0;
  view.doing = { type: "working" };
  view.tasks += 1;
  view.computeMs += computeMs;
  const row = rowOf(view);
  row.tasks += 1;
  row.computeMs += computeMs;
  view.recent.push({ atMs, direction, computeMs });
  if (view.recent.length > mostRecent || view.recent[0]!.atMs <= atMs - recentMs) {
    view.recent = view.recent.filter((task) => task.atMs > atMs - recentMs).slice(-mostRecent);
  }
}

const roundOf = (notice: PayNotice): number => notice.about === "withheld" ? notice.round : notice.fromRound;

function rowOf(view: NodeScreenView): RoundRow {
  const round = view.round ?? 0;
  const last = view.rounds.at(-1);
  if (last?.round === round) return last;
  const row = { round, tasks: 0, steps: 0, computeMs: 0 };
  view.rounds = [...view.rounds, row].slice(-mostRounds);
  return row;
}

function foldChecks(view: NodeScreenView, event: Of<"evaluated" | "verdict" | "scored">): void {
  view.doing = { type: "working" };
  view.round = event.round;
  if (event.type === "evaluated") {
    view.evaluations += 1;
    if (Number.isFinite(event.loss)) view.losses = [...view.losses, event.loss].slice(-mostLosses);
  }
  if (event.type === "verdict") {
    view.audits[event.passed ? "passed" : "failed"] += 1;
    view.audits.last = { miner: event.miner, passed: event.passed };
  }
}

/** The last minute, or since the start if shorter; null: too little to go by. */
export function paceOf(view: NodeScreenView, nowMs: number): {
  readonly tasksPerMinute: number;
  readonly busyShare: number;
  readonly computeMs: Readonly<Record<string, number>>;
} | null {
  const tasks = view.recent.filter(({ atMs }) => atMs > nowMs - recentMs);
  const first = view.recent[0];
  if (tasks.length < 2 || first === undefined) return null;
  const spanMs = Math.max(1, nowMs - Math.max(first.atMs - first.computeMs, nowMs - recentMs));
  const byDirection = Map.groupBy(tasks, ({ direction }) => direction);
  const sumOf = (of: readonly { computeMs: number }[]) => of.reduce((sum, { computeMs }) => sum + computeMs, 0);
  return {
    tasksPerMinute: (tasks.length * 60_000) / spanMs,
    busyShare: Math.min(1, sumOf(tasks) / spanMs),
    computeMs: Object.fromEntries([...byDirection].map(([name, of]) => [name, sumOf(of) / of.length])),
  };
}

/** Null: too little to go by. */
export function loadingLeftMs({ bytes, totalBytes, sinceMs, sinceBytes }: LoadingView, nowMs: number): number | null {
  const done = bytes - sinceBytes;
  const tookMs = nowMs - sinceMs;
  if (tookMs < 2_000 || done <= 0 || done < totalBytes / 50) return null;
  return ((totalBytes - bytes) * tookMs) / done;
}
