/// <reference lib="dom" />
/**
 * The chart of losses by step: training as a line, held-out text as dashed line with dots.
 *
 * Owns: from the run's curves to points (`trainPoints`, pure) and the drawing. A gap in a curve stays a gap.
 */

import { decimal } from "../../../screen/format.ts";
import type { PublicRun } from "../../public_run.ts";
import { placeOn, rangeOf, ticksOf } from "../axis.ts";
import { draw } from "../svg.ts";
import { type StepAxis, valueAt } from "./readout.ts";

export interface Point {
  readonly step: number;
  readonly loss: number | null;
}

const height = 240; // pixels
const left = 48;
const top = 10;
const bottom = height - 24;

type Curves = Pick<PublicRun, "losses" | "heldOut" | "step">;

/** The newest value ends before the steps that fill no value yet; each older one lies `stride` steps before the next. */
export function trainPoints({ losses: { values, stride, pending }, step }: Omit<Curves, "heldOut">): Point[] {
  const newest = step - pending;
  return values.map((loss, i) => ({ step: newest - (values.length - 1 - i) * stride, loss }));
}

/** `other`: a run to compare it with. Null: there is no loss yet. */
export function drawLoss(chart: Element, run: Curves, other: Curves | null = null): StepAxis | null {
  const train = trainPoints(run);
  const steps = rangeOf([0, run.step]);
  const compared = other === null ? [] : [...trainPoints(other), ...other.heldOut];
  const losses = rangeOf([...train, ...run.heldOut, ...compared].flatMap(({ loss }) => loss === null ? [] : [loss]));
  chart.replaceChildren();
  const width = Math.max(160, chart.clientWidth); // so that a pixel of the drawing is one of the page
  const right = width - 12;
  chart.setAttribute("viewBox", `0 0 ${width} ${height}`);
  if (steps === null || losses === null) {
    chart.setAttribute("aria-label", "No loss yet: the first step is not closed");
    draw(chart, "text", { x: left, y: height / 2 }, "The curve begins after the first step");
    return null;
  }
  const stepRange = { low: 0, high: Math.max(1, run.step) };
  const x = placeOn(stepRange, { from: left, to: right });
  const y = placeOn(losses, { from: bottom, to: top });
  for (const loss of ticksOf(losses, 5)) {
    draw(chart, "line", { class: "grid", x1: left, x2: right, y1: y(loss), y2: y(loss) });
    draw(chart, "text", { x: left - 6, y: y(loss) + 4, "text-anchor": "end" }, decimal(loss));
  }
  for (const step of ticksOf(stepRange, width / 100)) {
    draw(chart, "text", { x: x(step), y: height - 6, "text-anchor": "middle" }, decimal(step));
  }
  if (other !== null) drawCurves(chart, other, { x, y, kind: "line other" });
  drawCurves(chart, run, { x, y, kind: "line" });
  for (const { step, loss } of run.heldOut) draw(chart, "circle", { class: "dot", cx: x(step), cy: y(loss), r: 3 });
  chart.setAttribute("aria-label", other === null ? labelOf(run) : `${labelOf(run)}. Beside it: ${labelOf(other)}`);
  return { left, right, first: stepRange.low, last: stepRange.high };
}

/** The losses at a step: that of training, and the last on held-out text by then. */
export function lossWords({ losses: { values, stride, pending }, heldOut, step: last }: Curves, step: number): string {
  const train = valueAt(values, { step, stride, newest: last - pending });
  const held = heldOut.findLast((point) => point.step <= step);
  const words = [
    ...(train === null ? [] : [`training ${train.toFixed(4)}`]),
    ...(held === undefined ? [] : [`held-out text ${held.loss.toFixed(4)} at step ${decimal(held.step)}`]),
  ];
  return `step ${decimal(step)}: ${words.join(", ") || "nothing measured"}`;
}

function drawCurves(chart: Element, run: Curves, { kind, ...places }: Places & { readonly kind: string }): void {
  const inside = trainPoints(run).filter(({ step }) => step >= 0);
  draw(chart, "path", { class: kind, d: pathOf(inside, places) });
  draw(chart, "path", { class: `${kind} held-out`, d: pathOf(run.heldOut, places) });
}

function labelOf({ losses: { first, last }, heldOut, step }: Curves): string {
  const held = heldOut.at(-1);
  const train = first === null || last === null ? "" : `Training loss from ${first.toFixed(3)} to ${last.toFixed(3)}`;
  const validation = held === undefined ? "" : `; held-out loss ${held.loss.toFixed(3)} at step ${held.step}`;
  return `${train} nats per token after ${step} steps${validation}`;
}

interface Places {
  readonly x: (step: number) => number;
  readonly y: (loss: number) => number;
}

/** The data of an SVG path; a null begins a new piece. */
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
