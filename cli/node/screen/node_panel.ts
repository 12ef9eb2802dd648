/** A node's own screen as lines, from 39 columns on. Only measured numbers appear. Foreign texts are made printable. */

import {
  bar,
  byteSize,
  clock,
  cut,
  decimal,
  duration,
  padEnd,
  plural,
  printable,
  roughly,
  shortAddress,
  sparkline,
  tokens,
} from "../../terminal/text/format.ts";
import type { FrameRoom } from "../../terminal/screen/live_screen.ts";
import type { LinkRates } from "./link_meter.ts";
import { failedUploadText, noticeText, standstillText } from "./notice_text.ts";
import { type Doing, loadingLeftMs, type LoadingView, type NodeScreenView, paceOf } from "./node_view.ts";

const labelWidth = 9;

interface NodeFacts {
  readonly address: string;
  readonly rates: LinkRates;
}

export function nodeFrame(view: NodeScreenView, facts: NodeFacts, room: FrameRoom): string[] {
  const { width, height, paint, isDetailed } = room;
  const rows = view.role === "miner" ? minerRows(view, facts, room) : validatorRows(view, facts, room);
  const lines = rows.map(([name, text]) => `${paint.dim(padEnd(name, labelWidth))}${cut(text, width - labelWidth)}`);
  const details = isDetailed ? detailRows(view, room) : [];
  return ["", header(view, facts, room), ...lines, ...details].slice(0, Math.max(0, height));
}

type Row = readonly [name: string, text: string];

function header(
  { role, run, startedAtMs }: NodeScreenView,
  { address }: NodeFacts,
  { width, nowMs, paint }: FrameRoom,
): string {
  const name = `iota ${role === "miner" ? "miner" : "validate"}`;
  const elapsed = clock(nowMs - startedAtMs);
  const about = [
    shortAddress(address),
    ...(run === null ? [] : [`run ${printable(run.name)}, ${printable(run.size)}`]),
    ...(run === null ? [] : [run.netuid === null ? "no chain" : `subnet ${run.netuid} on ${printable(run.network)}`]),
  ].join(" · ");
  const room = Math.max(0, width - name.length - elapsed.length - 4);
  return `${paint.bold(name)}  ${padEnd(cut(about, room), room)}  ${elapsed}`;
}

function minerRows(view: NodeScreenView, facts: NodeFacts, { width, nowMs }: FrameRoom): Row[] {
  const { tasks, steps, merges, stage, round, step } = view;
  const pace = paceOf(view, nowMs);
  const place = [
    ...(stage === null ? [] : [`stage ${stage}`]),
    ...(round === null ? [] : [`round ${round}`]),
    ...(step === null ? [] : [`step ${decimal(step)}`]),
  ].join(", ");
  const now = nowText(view, { nowMs, width: width - labelWidth });
  const speed = pace === null ? "" : ` · ${decimal(pace.tasksPerMinute)} tasks/min`;
  return [
    ["now", place === "" ? now : `${now} · ${place}`],
    ["done", `${plural(tasks, "task")}, ${plural(steps, "step")}, ${plural(merges, "merge")}${speed}`],
    ["machine", machineText(view, pace)],
    ["link", linkText(view, facts, nowMs)],
    ...(view.failedUpload === null ? [] : [["upload", failedUploadText(view.failedUpload)] as const]),
    ...(view.notice === null ? [] : [["notice", noticeText(view.notice)] as const]),
    ...earnedRows(view),
  ];
}

function validatorRows(view: NodeScreenView, facts: NodeFacts, { nowMs, width }: FrameRoom): Row[] {
  const { audits: { passed, failed, last }, losses, evaluations, round } = view;
  const newest = losses.at(-1);
  const curve = sparkline(losses, Math.min(24, Math.max(0, width - 60)));
  const doing = nowText(view, { nowMs, width: width - labelWidth });
  const lastText = last === null ? "" : ` · last ${shortAddress(last.miner)} ${last.passed ? "passed" : "FAILED"}`;
  const loss = newest === undefined ? "none yet" : `${newest.toFixed(4)} nats${curve === "" ? "" : `  ${curve}`}`;
  const set = view.weightsBlock === null ? [] : [["weights", `last in block ${decimal(view.weightsBlock)}`] as const];
  return [
    ["now", round === null ? doing : `${doing} · round ${round}`],
    ["held-out", `${loss}${evaluations === 0 ? "" : ` · ${plural(evaluations, "round")} evaluated`}`],
    ["audits", `${decimal(passed)} passed, ${decimal(failed)} failed${lastText}`],
    ["machine", machineText(view, null)],
    ["link", linkText(view, facts, nowMs)],
    ...set,
    ...earnedRows(view),
  ];
}

/** A run's standstill explains an idle node. */
function nowText({ doing, standstill }: NodeScreenView, at: { nowMs: number; width: number }): string {
  const isExplained = ["waitingForStage", "working", "idle"].includes(doing.type);
  return standstill !== null && isExplained ? standstillText(standstill) : doingText(doing, at);
}

function doingText(doing: Doing, { nowMs, width }: { nowMs: number; width: number }): string {
  switch (doing.type) {
    case "starting":
      return "connecting";
    case "waitingForHub":
      return `waits for the orchestrator, ${duration(Math.max(0, nowMs - doing.sinceMs))}: ${printable(doing.reason)}`;
    case "waitingForStage":
      return "waits for a stage: newcomers get one when a round ends";
    case "loading":
      return doing.loading === null ? "loading its stage" : loadingText(doing.loading, { nowMs, width });
    case "working":
      return "working";
    case "idle":
      return `nothing to do for ${
        duration(Math.max(0, nowMs - doing.sinceMs))
      }: paused, a stage has no miner ready, or others are faster`;
    case "resting":
      return `paused: ${printable(doing.reason)}`;
    case "benched":
      return noticeText({ type: "notice", about: "rest", untilRound: doing.untilRound });
    case "behind":
      return noticeText(doing.notice);
    case "deviceLost":
      return `opening its device again: ${printable(doing.reason)}`;
  }
}

const partNames = { making: "making values", fetching: "fetching", placing: "placing on the device" } as const;

function loadingText(loading: LoadingView, { nowMs, width }: { nowMs: number; width: number }): string {
  const { part, bytes, totalBytes } = loading;
  const share = totalBytes > 0 ? Math.min(1, bytes / totalBytes) : 0;
  const left = loadingLeftMs(loading, nowMs);
  const amount = part === "fetching" ? `${byteSize(bytes)} of ${byteSize(totalBytes)}` : `${Math.floor(100 * share)} %`;
  const drawn = width >= 60 ? `${bar(share, 16)} ` : "";
  return `${drawn}${partNames[part]} ${amount}${left === null ? "" : `, about ${roughly(left)} left`}`;
}

function machineText({ device, deviceLosses }: NodeScreenView, pace: ReturnType<typeof paceOf>): string {
  const times = Object.entries(pace?.computeMs ?? {}).map(([direction, ms]) => `${direction} ${duration(ms)}`);
  return [
    device === null ? "not opened yet" : printable(device),
    ...(times.length === 0 ? [] : [`a task: ${times.join(", ")}`]),
    ...(pace === null ? [] : [`busy ${Math.round(100 * pace.busyShare)} %`]),
    ...(deviceLosses === 0 ? [] : [`lost ${plural(deviceLosses, "time")}`]),
  ].join(" · ");
}

function linkText({ linkedAtMs }: NodeScreenView, { rates }: NodeFacts, nowMs: number): string {
  const { sent, received, sentPerSecond, receivedPerSecond } = rates;
  const up = linkedAtMs === null ? "none" : `up for ${clock(nowMs - linkedAtMs)}`;
  const speed = `sends ${byteSize(sentPerSecond)}/s, receives ${byteSize(receivedPerSecond)}/s`;
  return `${up} · ${speed} · ${byteSize(sent)} and ${byteSize(received)} in all`;
}

function earnedRows({ chain, role }: NodeScreenView): Row[] {
  if (chain === null) return [];
  const { earnedRao, stakeRao = null, rank = null, ranked = 0, uid = null, sentences } = chain;
  const sentence = printable(sentences[0] ?? "");
  if (role === "validator" || uid === null || earnedRao === undefined) return [["chain", sentence]];
  const place = rank === null ? "" : ` · rank ${rank} of ${ranked}`;
  const stake = stakeRao === null ? "" : ` · stake ${tokens(BigInt(stakeRao))} alpha`;
  const earned = earnedRao === null ? "not readable" : `${tokens(BigInt(earnedRao))} alpha`;
  return [
    ["earned", `${earned} in the last epoch${place}${stake}`],
    ["chain", sentence],
  ];
}

function detailRows({ rounds, role, chain }: NodeScreenView, { width, paint }: FrameRoom): string[] {
  const said = (chain?.sentences ?? []).slice(1).map((text) => `  ${printable(text)}`);
  const table = role === "miner" && rounds.length > 0
    ? [
      paint.dim(cut("round     tasks     steps   computed", width)),
      ...rounds.toReversed().map(({ round, tasks, steps, computeMs }) =>
        [String(round), decimal(tasks), decimal(steps), duration(computeMs)].map((cell) => padEnd(cell, 10)).join("")
          .trimEnd()
      ),
    ]
    : [];
  return [...said, ...(table.length === 0 ? [] : ["", ...table])].map((line) => cut(line, width));
}
