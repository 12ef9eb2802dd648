/// <reference lib="dom" />
/**
 * A miner's effect on the loss (CLASP, plain form): a dot per stage with bars of two standard errors, on a scale
 * symmetric about zero.
 */

import { decimal } from "../../../../terminal/text/format.ts";
import type { PublicAccount } from "../../../public/public_shape.ts";
import { placeOn, ticksOf } from "../parts/axis.ts";
import { draw } from "../parts/svg.ts";

type Effects = PublicAccount["clasp"];

const rowHeight = 28; // pixels
const top = 6;
const axisHeight = 22;
const left = 64;
const errors = 2; // standard errors, about 95 %

export function drawEffects(chart: Element, effects: Effects): void {
  chart.replaceChildren();
  const width = Math.max(160, chart.clientWidth);
  const bottom = top + rowHeight * effects.length;
  chart.setAttribute("viewBox", `0 0 ${width} ${bottom + axisHeight}`);
  const reach = reachOf(effects);
  const x = placeOn({ low: -reach, high: reach }, { from: left, to: width - 24 });
  for (const value of ticksOf({ low: -reach, high: reach }, 4)) {
    draw(chart, "line", { class: "grid", x1: x(value), x2: x(value), y1: top, y2: bottom });
    draw(chart, "text", { x: x(value), y: bottom + 16, "text-anchor": "middle" }, decimal(value));
  }
  draw(chart, "line", { class: "zero", x1: x(0), x2: x(0), y1: top, y2: bottom });
  effects.forEach(({ stage, effect, standardError }, i) => {
    const y = top + (i + 0.5) * rowHeight;
    draw(chart, "text", { x: 0, y: y + 4 }, `stage ${stage}`);
    if (standardError !== null) {
      const ends = { x1: x(effect - errors * standardError), x2: x(effect + errors * standardError) };
      draw(chart, "line", { class: "error", ...ends, y1: y, y2: y });
      for (const end of [ends.x1, ends.x2]) {
        draw(chart, "line", { class: "error", x1: end, x2: end, y1: y - 5, y2: y + 5 });
      }
    }
    draw(chart, "circle", { class: standardError === null ? "guess" : "effect", cx: x(effect), cy: y, r: 4 });
  });
  chart.setAttribute("aria-label", effects.map(wordsOf).join("; "));
}

/** Half the axis: every bar fits, at least 0.01 nats. */
export function reachOf(effects: Effects): number {
  const ends = effects.map(({ effect, standardError }) => Math.abs(effect) + errors * (standardError ?? 0));
  return Math.max(0.01, ...ends) * 1.1;
}

function wordsOf({ stage, effect, standardError }: Effects[number]): string {
  const error = standardError === null ? "too few samples for an error bar" : `± ${decimal(errors * standardError)}`;
  return `Stage ${stage}: ${decimal(effect)} nats above its stage-mates, ${error}`;
}
