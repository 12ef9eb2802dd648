/// <reference lib="dom" />
/** Small charts by step: a line, or stacked columns. They begin at zero; gaps stay. */

import { decimal } from "../../../../terminal/text/format.ts";
import { placeOn, ticksOf } from "../parts/axis.ts";
import { pathOf } from "./loss_chart.ts";
import { draw } from "../parts/svg.ts";
import type { StepAxis } from "./readout.ts";

/** Each value covers `stride` steps, the last ends with step `newest`; the chart ends with step `last`. */
export interface StepPlaces {
  readonly stride: number;
  readonly newest: number;
  readonly last: number;
}

type Values = readonly (number | null)[];

const height = 150; // pixels
const left = 52;
const top = 8;
const bottom = height - 22;

interface Frame {
  readonly axis: StepAxis;
  readonly x: (step: number) => number;
  readonly y: (value: number) => number;
}

export function drawLine(
  chart: Element,
  { values, unit, ...places }: StepPlaces & { values: Values; unit: string },
): StepAxis | null {
  const measured = values.filter((value): value is number => value !== null);
  const latest = measured.at(-1);
  if (latest === undefined) return drawNothing(chart, unit);
  const frame = drawFrame(chart, { places, high: Math.max(...measured) });
  const points = values.map((value, i) => ({ step: endOf(places, { index: i, count: values.length }), loss: value }));
  draw(chart, "path", { class: "line", d: pathOf(points.filter(({ step }) => step >= 0), frame) });
  const lowest = decimal(Math.min(...measured));
  const text = `${decimal(latest)} ${unit} at step ${places.newest}; between ${lowest} and ${
    decimal(Math.max(...measured))
  }`;
  chart.setAttribute("aria-label", text);
  return frame.axis;
}

/** All curves have the same length; null: not measured. */
export function columnsOf(curves: readonly Values[], most: number): { width: number; columns: Values[] } {
  const count = Math.max(0, ...curves.map(({ length }) => length));
  const width = Math.max(1, Math.ceil(count / most));
  const columns = Array.from(
    { length: Math.ceil(count / width) },
    (_, i) => curves.map((values) => meanOf(values.slice(i * width, (i + 1) * width))),
  );
  return { width, columns };
}

function meanOf(values: Values): number | null {
  const measured = values.filter((value): value is number => value !== null);
  return measured.length === 0 ? null : measured.reduce((sum, value) => sum + value, 0) / measured.length;
}

interface ColumnChart extends StepPlaces {
  readonly columns: { readonly width: number; readonly columns: readonly Values[] };
  readonly names: readonly string[];
  readonly classes: readonly string[];
  readonly unit: string;
}

export function drawColumns(
  chart: Element,
  { columns: { width, columns }, names, classes, unit, ...places }: ColumnChart,
): StepAxis | null {
  const sums = columns.map((parts) => parts.reduce<number>((sum, part) => sum + (part ?? 0), 0));
  const latest = columns.findLast((parts) => parts.some((part) => part !== null));
  if (latest === undefined) return drawNothing(chart, unit);
  const { x, y, axis } = drawFrame(chart, { places, high: Math.max(...sums) });
  const steps = places.stride * width;
  const first = places.newest - columns.length * steps; // before the first column, even if the last is shorter
  columns.forEach((parts, i) => {
    const from = x(Math.max(0, first + i * steps));
    const to = x(Math.min(places.newest, Math.max(0, first + (i + 1) * steps)));
    let base = 0;
    parts.forEach((part, k) => {
      if (part === null || part === 0) return;
      const [low, high] = [y(base), y(base + part)];
      base += part;
      const size = { x: from, width: Math.max(1, to - from - 1), y: high, height: Math.max(0, low - high) };
      draw(chart, "rect", { class: `part ${classes[k]!}`, ...size });
    });
  });
  const words = latest.map((part, k) => `${names[k]!} ${decimal(part ?? 0)}`).join(", ");
  chart.setAttribute("aria-label", `${unit}, the newest steps: ${words}`);
  return axis;
}

const endOf = ({ newest, stride }: StepPlaces, { index, count }: { index: number; count: number }): number =>
  newest - (count - 1 - index) * stride;

function drawFrame(chart: Element, { places, high }: { places: StepPlaces; high: number }): Frame {
  chart.replaceChildren();
  const width = Math.max(160, chart.clientWidth); // one unit per page pixel
  chart.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const steps = { low: 0, high: Math.max(1, places.last) };
  const values = { low: 0, high: high > 0 ? high * 1.05 : 1 };
  const x = placeOn(steps, { from: left, to: width - 12 });
  const y = placeOn(values, { from: bottom, to: top });
  for (const value of ticksOf(values, 4)) {
    draw(chart, "line", { class: "grid", x1: left, x2: width - 12, y1: y(value), y2: y(value) });
    draw(chart, "text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, decimal(value));
  }
  for (const step of ticksOf(steps, width / 100)) {
    draw(chart, "text", { x: x(step), y: height - 6, "text-anchor": "middle" }, decimal(step));
  }
  return { x, y, axis: { left, right: width - 12, first: steps.low, last: steps.high } };
}

function drawNothing(chart: Element, unit: string): null {
  chart.replaceChildren();
  chart.setAttribute("viewBox", `0 0 ${Math.max(160, chart.clientWidth)} ${height}`);
  chart.setAttribute("aria-label", `No ${unit} yet`);
  draw(chart, "text", { x: left, y: height / 2 }, "After the first step");
  return null;
}
