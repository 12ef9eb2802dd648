/// <reference lib="dom" />
/** Draws a microbatch's way: a row per task, on one time axis. */

import { duration, plural, shortAddress } from "../../../../terminal/text/format.ts";
import { placeOn, ticksOf } from "../parts/axis.ts";
import { draw } from "../parts/svg.ts";
import { endMs, type WayHop } from "./way.ts";

const rowHeight = 24; // pixels
const axisHeight = 22;
const left = 128; // of the axis, beside the names
const wide = 560; // room for addresses

export function drawPathway(chart: Element, way: readonly WayHop[]): void {
  chart.replaceChildren();
  chart.setAttribute("aria-label", labelOf(way));
  const width = Math.max(160, chart.clientWidth);
  const height = way.length * rowHeight + axisHeight;
  chart.setAttribute("viewBox", `0 0 ${width} ${height}`);
  chart.setAttribute("height", String(way.length === 0 ? 0 : height));
  const [first] = way;
  if (first === undefined) return;
  const range = { low: first.sentMs, high: Math.max(first.sentMs + 1, endMs(way)) };
  const x = placeOn(range, { from: left, to: width - (width >= wide ? 120 : 8) });
  const end = way.length * rowHeight;
  for (const ms of ticksOf({ low: 0, high: range.high - range.low }, (width - left) / 90)) {
    const at = x(range.low + ms);
    draw(chart, "line", { class: "grid", x1: at, x2: at, y1: 0, y2: end });
    draw(chart, "text", { x: at, y: end + 16, "text-anchor": "middle" }, duration(ms));
  }
  way.forEach((hop, row) =>
    drawTask(chart, hop, { x, top: row * rowHeight, isWide: width >= wide, isFirst: row === 0 })
  );
}

interface Row {
  readonly x: (ms: number) => number;
  readonly top: number;
  readonly isWide: boolean;
  readonly isFirst: boolean; // its wait lies before the axis
}

function drawTask(chart: Element, hop: WayHop, { x, top, isWide, isFirst }: Row): void {
  const { sentMs, tookMs, waitedMs, computeMs } = hop;
  const middle = top + rowHeight / 2;
  const bar = (name: string, fromMs: number, ms: number) =>
    draw(chart, "rect", {
      class: name,
      x: x(fromMs),
      y: top + 4,
      width: Math.max(1, x(fromMs + ms) - x(fromMs)),
      height: 16,
    });
  draw(chart, "text", { x: left - 8, y: middle + 5, "text-anchor": "end" }, `${hop.stage} ${hop.direction}`);
  if (!isFirst) {
    draw(chart, "line", { class: "waiting", x1: x(sentMs - waitedMs), x2: x(sentMs), y1: middle, y2: middle });
  }
  bar("away", sentMs, tookMs);
  bar("device", sentMs + (tookMs - computeMs) / 2, computeMs); // the exact time is unknown
  if (isWide) draw(chart, "text", { x: x(sentMs + tookMs) + 6, y: middle + 5 }, shortAddress(hop.node));
}

function labelOf(way: readonly WayHop[]): string {
  const longest = way.reduce<WayHop | null>(
    (most, hop) => most === null || hop.tookMs > most.tookMs ? hop : most,
    null,
  );
  if (longest === null) return "No times yet";
  return `${plural(way.length, "task")}; the longest, ${longest.direction} of stage ${longest.stage}, took ${
    duration(longest.tookMs)
  }`;
}
