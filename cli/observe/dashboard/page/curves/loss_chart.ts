/// <reference lib="dom" />
/** The chart of losses by step: training as a line, held-out text as a dashed line with dots. Gaps stay. */

import { decimal, plural } from "../../../../terminal/text/format.ts";
import type { PublicRun } from "../../../public/public_shape.ts";
import { placeOn, rangeOf, ticksOf } from "../parts/axis.ts";
import { draw } from "../parts/svg.ts";
import { type StepAxis, valueAt } from "./readout.ts";

interface Point {
  readonly step: number;
  readonly loss: number | null;
}

const left = 48; // pixels
const top = 10;
const axisHeight = 24;
const leastHeight = 160;

type Curves = Pick<PublicRun, "losses" | "heldOut" | "step">;

/** The newest value ends before the `pending` steps. */
export function trainPoints({ losses: { values, stride, pending }, step }: Omit<Curves, "heldOut">): Point[] {
  const newest = step - pending;
  return values.map((loss, i) => ({ step: newest - (values.length - 1 - i) * stride, loss }));
}

export interface LossView {
  readonly other: Curves | null;
  readonly last: number; // step at the right end, unless zoomed
  readonly zoom: StepRange | null;
  readonly smoothing: number; // below 1; 0: none
}

export interface StepRange {
  readonly low: number;
  readonly high: number;
}

export function drawLoss(chart: Element, run: Curves, { other, last, zoom, smoothing }: LossView): StepAxis | null {
  const steps = zoom ?? { low: 0, high: Math.max(1, run.step, last) };
  const losses = rangeOf(lossesIn(steps, other === null ? [run] : [run, other]));
  chart.replaceChildren();
  const width = Math.max(160, chart.clientWidth); // one unit per page pixel
  const height = Math.max(leastHeight, chart.clientHeight);
  const [right, bottom] = [width - 12, height - axisHeight];
  chart.setAttribute("viewBox", `0 0 ${width} ${height}`);
  if (losses === null) {
    chart.setAttribute("aria-label", "No loss yet: the first step is not closed");
    draw(chart, "text", { x: left, y: height / 2 }, "The curve begins after the first step");
    return null;
  }
  const x = placeOn(steps, { from: left, to: right });
  const y = placeOn(losses, { from: bottom, to: top });
  for (const loss of ticksOf(losses, height / 60)) {
    draw(chart, "line", { class: "grid", x1: left, x2: right, y1: y(loss), y2: y(loss) });
    draw(chart, "text", { x: left - 6, y: y(loss) + 4, "text-anchor": "end" }, decimal(loss));
  }
  for (const step of ticksOf(steps, width / 100)) {
    draw(chart, "text", { x: x(step), y: height - 6, "text-anchor": "middle" }, decimal(step));
  }
  const clip = draw(chart, "clipPath", { id: "loss-clip" });
  draw(clip, "rect", { x: left, y: 0, width: right - left, height: bottom });
  const curves = draw(chart, "g", { "clip-path": "url(#loss-clip)" });
  if (other !== null) drawCurves(curves, other, { x, y, kind: "line other", smoothing });
  drawCurves(curves, run, { x, y, kind: "line", smoothing });
  for (const { step, loss } of run.heldOut) draw(curves, "circle", { class: "dot", cx: x(step), cy: y(loss), r: 3 });
  chart.setAttribute("aria-label", other === null ? labelOf(run) : `${labelOf(run)}. Beside it: ${labelOf(other)}`);
  return { left, right, first: steps.low, last: steps.high };
}

function lossesIn({ low, high }: StepRange, runs: readonly Curves[]): number[] {
  const points = runs.flatMap((run): Point[] => [...trainPoints(run), ...run.heldOut]);
  return points.flatMap(({ step, loss }) => loss === null || step < low || step > high ? [] : [loss]);
}

/** Adam's bias correction (Kingma and Ba 2014), so that the mean begins at the first loss. */
export function smoothed(points: readonly Point[], smoothing: number): Point[] {
  let sum = 0;
  let weight = 0;
  return points.map(({ step, loss }) => {
    if (loss === null) return { step, loss };
    sum = smoothing * sum + (1 - smoothing) * loss;
    weight = smoothing * weight + 1 - smoothing;
    return { step, loss: sum / weight };
  });
}

export function lossWords({ losses: { values, stride, pending }, heldOut, step: last }: Curves, step: number): string {
  const train = valueAt(values, { step, stride, newest: last - pending });
  const held = heldOut.findLast((point) => point.step <= step);
  const words = [
    ...(train === null ? [] : [`training ${train.toFixed(4)}`]),
    ...(held === undefined ? [] : [`held-out text ${held.loss.toFixed(4)} at step ${decimal(held.step)}`]),
  ];
  return `step ${decimal(step)}: ${words.join(", ") || "nothing measured"}`;
}

function drawCurves(
  chart: Element,
  run: Curves,
  { kind, smoothing, ...places }: Places & { readonly kind: string; readonly smoothing: number },
): void {
  const inside = trainPoints(run).filter(({ step }) => step >= 0);
  if (smoothing > 0) draw(chart, "path", { class: kind.replace("line", "raw"), d: pathOf(inside, places) });
  draw(chart, "path", { class: kind, d: pathOf(smoothing > 0 ? smoothed(inside, smoothing) : inside, places) });
  draw(chart, "path", { class: `${kind} held-out`, d: pathOf(run.heldOut, places) });
}

function labelOf({ losses: { first, last }, heldOut, step }: Curves): string {
  const held = heldOut.at(-1);
  const train = first === null || last === null ? "" : `Training loss from ${first.toFixed(3)} to ${last.toFixed(3)}`;
  const validation = held === undefined ? "" : `; held-out loss ${held.loss.toFixed(3)} at step ${held.step}`;
  return `${train} nats per token after ${plural(step, "step")}${validation}`;
}

interface Places {
  readonly x: (step: number) => number;
  readonly y: (loss: number) => number;
}

export function pathOf(points: readonly Point[], { x, y }: Places): string {
  let isDrawing = false;
  return points.map(({ step, loss }) => {
    if (loss === null) {
      isDrawing = false;
      return "";
    }
    const command = isDrawing ? "L" : "M";
    isDrawing = true;
    return `${command}${x(step).toFixed(1)} ${y(loss).toFixed(1)}`;
  }).join("");
}
