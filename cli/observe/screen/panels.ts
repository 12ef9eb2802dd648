/**
 * The live screen's parts: pure functions from view and width to lines no wider, from 39 columns on. A small window
 * drops events first, then stages.
 */

import { nounFor } from "../../../core/plural.ts";
import type { Paint } from "../../terminal/text/paint.ts";
import { detailPanel } from "./detail_panels.ts";
import {
  bar,
  byteSize,
  clock,
  cut,
  decimal,
  duration,
  padEnd,
  padStart,
  plural,
  printable,
  roughly,
  short,
  shortAddress,
  sparkline,
} from "../../terminal/text/format.ts";
import {
  awaitedStages,
  type MergePhase,
  type NodeView,
  remainingMs,
  type RunView,
  tokensPerSecond,
  type WireCost,
} from "../../../core/view/view.ts";
import { byteKinds } from "../../../core/view/curves.ts";
import { meanOf } from "../../../core/view/series.ts";
import { newsLine } from "./news_words.ts";
import { lostStagesText, unservedText } from "./record_words.ts";

interface PanelOptions {
  readonly width: number;
  readonly nowMs: number;
  readonly paint: Paint;
}

interface FrameOptions extends PanelOptions {
  readonly height: number;
  readonly isDetailed?: boolean; // all news that fit, every member with something to say
}

const labelWidth = 8;
const newsRows = 6;
const leastWithText = 20; // lines

export function frame(view: RunView, options: FrameOptions): string[] {
  const top = [
    ...headerPanel(view, options),
    ...progressPanel(view, options),
    ...lossPanel(view, options),
    ...speedPanel(view, options),
    ...(options.height < leastWithText ? [] : bytesPanel(view, options)),
  ];
  const bottom = [
    ...waitingPanel(view, options),
    ...mergePanel(view, options),
    ...verdictPanel(view, options),
    ...chainPanel(view, options),
    ...(options.height < leastWithText ? [] : textPanel(view, options)),
  ];
  if (options.isDetailed) {
    const details = detailPanel(view, options).slice(0, Math.max(0, options.height - top.length));
    const news = eventPanel(view, { ...options, height: options.height - top.length - details.length });
    return [...top, ...details, ...news].slice(0, Math.max(0, options.height));
  }
  const heading = 2;
  const room = Math.max(0, options.height - top.length - bottom.length - heading);
  const stages = stagePanel(view, { ...options, height: room + heading });
  const events = eventPanel(view, { ...options, height: options.height - top.length - bottom.length - stages.length });
  return [...top, ...stages, ...bottom, ...events].slice(0, Math.max(0, options.height));
}

function headerPanel(view: RunView, { width, nowMs, paint }: PanelOptions): string[] {
  const { facts } = view;
  const elapsed = clock(nowMs - view.startedAtMs);
  const name = `iota ${facts.command}`;
  const device = facts.device === "" ? [] : [facts.device]; // unknown before the first miner
  const about = [facts.run, `${facts.size} (${short(facts.parameters)} parameters)`, ...device].join(" · ");
  const room = width - name.length - elapsed.length - 4;
  return [
    `${paint.bold(name)}  ${padEnd(cut(about, room), room)}  ${elapsed}`,
    paint.dim("─".repeat(width)),
  ];
}

function progressPanel(view: RunView, { width, nowMs, paint }: PanelOptions): string[] {
  const { steps, stepsPerRound } = view.facts;
  const counter = `${padStart(String(view.step), String(steps).length)} of ${steps}`;
  const rounds = stepsPerRound === 0 ? null : Math.ceil(steps / stepsPerRound); // null: measured as it goes
  const { isHalted, stages: lost } = view.lostRounds;
  const left = view.isPaused || view.isPausedByOwner || isHalted ? null : remainingMs(view, nowMs);
  const awaited = awaitedStages(view);
  const halted = isHalted ? `halted: ${lostStagesText(lost)}` : "";
  const tail = awaited.length > 0 ? `waiting: ${unservedText(awaited)}` : halted !== "" ? halted : [
    view.phase === "training" || view.phase === "merging"
      ? rounds === null ? `round ${view.round + 1}` : `round ${Math.min(view.round + 1, rounds)} of ${rounds}`
      : "",
    view.isPausedByOwner ? "paused by its owner" : view.isPaused ? "waits for room on the disk" : view.phase,
    left === null ? "" : `about ${roughly(left)} left`,
  ].filter((part) => part !== "").join(" · ");
  const barWidth = width >= 100 ? 30 : width >= 76 ? 16 : 0;
  const drawn = barWidth === 0 ? "" : `${paint.green(bar(view.step / steps, barWidth))}  `;
  const room = width - labelWidth - counter.length - 2 - (barWidth === 0 ? 0 : barWidth + 2);
  return [label("step", paint) + `${counter}  ${drawn}${cut(tail, room)}`];
}

function lossPanel(view: RunView, { width, paint }: PanelOptions): string[] {
  if (view.lossLast === null || view.lossFirst === null) {
    return [label("loss", paint) + paint.dim("after the first step")];
  }
  const now = `${view.lossLast.toFixed(4)} nats`;
  const first = view.validation[0];
  const last = view.validation.at(-1);
  const validation = first === undefined || last === undefined
    ? ""
    : `validation ${first.loss.toFixed(3)}${last.round === first.round ? "" : ` → ${last.loss.toFixed(3)}`}` +
      (width < 76 ? "" : ` (round ${last.round})`);
  const start = `from ${view.lossFirst.toFixed(3)}`;
  const room = width - labelWidth - now.length - 2;
  const text = [start, validation].filter((part) => part !== "").join(" · ");
  const curveWidth = Math.min(48, room - text.length - 2);
  const curve = curveWidth >= 8 ? sparkline(view.losses.values.map((value) => value ?? Number.NaN), curveWidth) : "";
  const parts = curve === "" ? cut(text, room) : `${paint.cyan(curve)}  ${text}`;
  return [label("loss", paint) + `${paint.bold(now)}  ${parts}`];
}

export function speedPanel(view: RunView, { width, paint }: PanelOptions): string[] {
  const speed = awaitedStages(view).length > 0 ? null : tokensPerSecond(view);
  const { wire } = view;
  const lines: string[] = [];
  if (speed !== null) {
    const rate = view.learningRate === null ? "" : ` · learning rate ${view.learningRate.toExponential(2)}`;
    const again = view.reLeases === 0 ? "" : ` · ${plural(view.reLeases, "task")} handed out again`;
    lines.push(label("speed", paint) + cut(`${decimal(speed)} tokens/s${rate}${again}`, width - labelWidth));
  }
  if (wire !== null) {
    const [forward, backward, bf16] = [wire.forwardBytes, wire.backwardBytes, wire.bf16Bytes].map(decimal);
    const compared = comparedWithBf16(wire);
    const full = `${forward} B/token forward, ${backward} back · ${compared} than bf16 (${bf16} B)`;
    const medium = `${forward} + ${backward} B/token · ${compared} than bf16`;
    const narrow = `${forward} + ${backward} B/token · bf16 ${bf16}`;
    const room = width - labelWidth;
    lines.push(label("wire", paint) + cut([full, medium].find((text) => text.length <= room) ?? narrow, room));
  }
  return lines;
}

const byteNames = { wires: "wires", merge: "merges", parameters: "parameters", control: "messages" } as const;

function bytesPanel({ curves }: RunView, { width, paint }: PanelOptions): string[] {
  const kinds = byteKinds.map((kind) => ({ kind, bytes: meanOf(curves.bytesPerToken[kind]) ?? 0 }));
  const total = kinds.reduce((sum, { bytes }) => sum + bytes, 0);
  if (total === 0) return [];
  const shares = kinds.filter(({ bytes }) => bytes > 0).sort((a, b) => b.bytes - a.bytes)
    .map(({ kind, bytes }) => `${byteNames[kind]} ${Math.round((100 * bytes) / total)} %`);
  const room = width - labelWidth;
  const full = `${decimal(total)} B a trained token: ${shares.join(", ")}`;
  return [
    label("bytes", paint) + (full.length <= room ? full : cut(`${decimal(total)} B/token: ${shares.join(" ")}`, room)),
  ];
}

function comparedWithBf16({ forwardBytes, backwardBytes, bf16Bytes }: WireCost): string {
  const [there, back] = [forwardBytes, backwardBytes].map((bytes) => ({
    factor: `${decimal(Math.max(bf16Bytes / bytes, bytes / bf16Bytes))}x`,
    word: bytes <= bf16Bytes ? "smaller" : "larger",
  }));
  if (there!.word !== back!.word) return `${there!.factor} ${there!.word} and ${back!.factor} ${back!.word}`;
  return `${there!.factor} and ${back!.factor} ${back!.word}`;
}

function chainPanel({ chain }: RunView, { width, paint }: PanelOptions): string[] {
  if (chain === null) return [];
  const { block, weightsSet, epochs, minersRao } = chain;
  const done = weightsSet === 0 ? "no weights yet" : `weights set ${plural(weightsSet, "time")}`;
  const paid = (Number(BigInt(minersRao) / 1_000_000n) / 1_000).toFixed(1); // rao are billionths
  const text = `block ${block} · ${done} · ${plural(epochs, "epoch")} paid ${paid} alpha to miners`;
  return [label("chain", paint) + cut(text, width - labelWidth)];
}

export function textPanel({ samples }: RunView, { width, paint }: PanelOptions): string[] {
  const sample = samples.at(-1);
  if (sample === undefined) return [];
  const text = printable(`step ${sample.step}: ${sample.prompt}${sample.text}`.replaceAll(/\s+/g, " "));
  return [label("text", paint) + cut(text, width - labelWidth)];
}

function stagePanel(view: RunView, options: FrameOptions): string[] {
  const { paint, width, height } = options;
  const room = Math.max(0, height - 2);
  if (room === 0) return [];
  const shown = view.stages.length <= room ? view.stages.length : Math.max(0, room - 1);
  const miners = Object.values(view.nodes).filter((node) => node.role === "miner");
  const lanes = view.stages.slice(0, shown).map((_, index) => lane(view, { ...options, index, miners }));
  const hidden = view.stages.length - shown;
  const legend = "miners: ● ready ◌ loading × lost, tasks done";
  const head = "stage   layers     in flight   ";
  const heading = head + (head.length + legend.length <= width ? legend : "miners: tasks done");
  const more = hidden === 0 ? [] : [
    paint.dim(
      `        ${shown === 0 ? "" : "and "}${hidden}${shown === 0 ? "" : " more"} ${nounFor(hidden, "stage")}`,
    ),
  ];
  return ["", paint.dim(cut(heading, width)), ...lanes, ...more];
}

/** Miners of a starting run, and newcomers until the next round. */
function waitingPanel(view: RunView, { width, paint }: PanelOptions): string[] {
  const waiting = Object.values(view.nodes)
    .filter((node) => node.role === "miner" && node.stage === null && node.state !== "lost");
  if (waiting.length === 0) return [];
  const head = padEnd("waiting for a stage", 31);
  return [paint.dim(head) + minerCells(waiting, { room: width - head.length, paint })];
}

interface LaneOptions extends PanelOptions {
  readonly index: number;
  readonly miners: readonly NodeView[];
}

function lane(view: RunView, { index, miners, width, paint }: LaneOptions): string {
  const stage = view.stages[index]!;
  const last = stage.firstLayer + stage.layers - 1;
  const layers = stage.layers === 0 ? "none" : stage.layers === 1 ? `${last}` : `${stage.firstLayer}–${last}`;
  const flight = stage.forward + stage.backward === 0
    ? ""
    : `${padStart(String(stage.forward), 3)} → ${padStart(String(stage.backward), 3)} ←`;
  const head = `${padEnd(String(index), labelWidth)}${padEnd(layers, 9)}  ${padEnd(flight, 11)} `;
  return head + minerCells(miners.filter((node) => node.stage === index), { room: width - head.length, paint });
}

/** As many as fit; with addresses if all have room. */
function minerCells(miners: readonly NodeView[], { room, paint }: { room: number; paint: Paint }): string {
  if (miners.length === 0) return paint.yellow(firstThatFits(["no miner serves this stage", "nobody"], room));
  const cell = (node: NodeView, named: boolean) => {
    const count = node.loading === null ? short(node.tasks) : `${node.loading} %`;
    const text = named ? `${shortAddress(node.node)} ${count}` : count;
    return { width: text.length + 2, text: `${glyph(node, paint)} ${text}` };
  };
  const width = (cells: { width: number }[]) => cells.reduce((sum, each) => sum + each.width + 2, -2);
  const named = miners.map((node) => cell(node, true));
  if (width(named) <= room) return named.map((each) => each.text).join("  ");
  const plain = miners.map((node) => cell(node, false));
  if (width(plain) <= room) return plain.map((each) => each.text).join("  ");
  const ready = miners.filter((node) => node.state === "ready").length;
  const tasks = miners.reduce((sum, node) => sum + node.tasks, 0);
  const counts = `${ready} of ${miners.length}`;
  return firstThatFits([`${counts} ready, ${short(tasks)} ${nounFor(tasks, "task")}`, `${counts} ready`, counts], room);
}

function firstThatFits(texts: readonly [string, ...string[]], room: number): string {
  return texts.find((text) => text.length <= room) ?? cut(texts.at(-1)!, room);
}

function glyph(node: NodeView, paint: Paint): string {
  if (node.state === "ready") return paint.green("●");
  return node.state === "loading" ? paint.yellow("◌") : paint.red("×");
}

const mergePhases: readonly MergePhase[] = ["committing", "reducing", "applying", "agreed"];

function mergePanel(view: RunView, { width, paint }: PanelOptions): string[] {
  const { lastMerge } = view;
  const counts = mergePhases
    .map((phase) => ({ phase, count: view.stages.filter((stage) => stage.merge === phase).length }))
    .filter(({ count }) => count > 0)
    .map(({ phase, count }) => `${count} ${phase}`);
  const now = view.phase === "merging" ? `${plural(view.stages.length, "stage")}: ${counts.join(", ")}` : "";
  const before = lastMerge === null
    ? ""
    : `round ${lastMerge.round}: ${byteSize(lastMerge.bytesPerMiner)} a miner, ${duration(lastMerge.mergeMs)}` +
      (lastMerge.agree === null ? "" : `, hashes ${lastMerge.agree ? "equal" : "UNEQUAL"}`);
  if (now === "" && before === "") return [];
  const text = cut([now, before].filter((part) => part !== "").join(" · "), width - labelWidth);
  return ["", label("merge", paint) + (lastMerge?.agree === false ? paint.red(text) : text)];
}

function verdictPanel(view: RunView, { width, paint }: PanelOptions): string[] {
  const { passed, failed, last } = view.verdicts;
  if (last === null) return [];
  const counts = `${decimal(passed)} passed, ${decimal(failed)} failed`;
  const latest =
    `last ${shortAddress(last.miner)} stage ${last.stage}: error ${measured(last.innovationError)}, limit ` +
    `${measured(last.tolerance)}`;
  const text = cut(`${counts} · ${latest}`, width - labelWidth);
  return [label("audits", paint) + (failed > 0 ? paint.yellow(text) : text)];
}

function eventPanel(view: RunView, { width, height, paint, isDetailed = false }: FrameOptions): string[] {
  const room = Math.min(view.news.length, height - 1, isDetailed ? Infinity : newsRows);
  if (room <= 0) return [];
  return [
    "",
    ...view.news.slice(-room).map(({ atMs, record }) => {
      const { level, text } = newsLine(record);
      const at = padEnd(clock(atMs - view.startedAtMs), labelWidth);
      const line = cut(text, width - labelWidth);
      return paint.dim(at) + (level === "warn" ? paint.yellow(line) : line);
    }),
  ];
}

const measured = (value: number | null): string => decimal(value ?? Number.NaN);

function label(text: string, paint: Paint): string {
  return paint.dim(padEnd(text, labelWidth));
}
