/// <reference lib="dom" />
/**
 * A dot per microbatch under way, forward in the upper lane, backward in the lower. Hidden from screen readers: the
 * stage cards tell the counts.
 */

import type { PublicHop, PublicRun } from "../../../public/public_shape.ts";
import { byId, setText } from "../parts/elements.ts";
import { draw } from "../parts/svg.ts";

const laneHeight = 26; // pixels
const headHeight = 18;
const radius = 4;
const gap = 10; // between dots
const flightHeight = headHeight + 2 * laneHeight + 6;

interface Dot {
  readonly circle: Element;
  readonly title: Element;
}

const dots = new Map<number, Dot>();
let drawn = "";

export function showFlight({ flight, stages }: PublicRun): void {
  const picture = byId("flight");
  const width = Math.max(160, picture.clientWidth);
  if (drawn !== `${stages.length} ${width}`) drawLanes(picture, { stages: stages.length, width });
  const places = dotPlaces(flight, { stages: stages.length, width });
  for (const [microbatch, { circle }] of dots) {
    if (places.has(microbatch)) continue;
    circle.remove();
    dots.delete(microbatch);
  }
  for (const { microbatch, direction, stage } of flight) {
    const place = places.get(microbatch);
    if (place === undefined) continue;
    const dot = dots.get(microbatch) ?? newDot(picture, microbatch);
    const { circle, title } = dot;
    circle.setAttribute("class", `microbatch ${direction}`);
    circle.setAttribute("cx", place.x.toFixed(1));
    circle.setAttribute("cy", place.y.toFixed(1));
    setText(title, `Microbatch ${microbatch}, ${direction} to stage ${stage}`);
  }
}

export function dotPlaces(
  flight: readonly PublicHop[],
  { stages, width }: { stages: number; width: number },
): Map<number, { x: number; y: number }> {
  const column = width / Math.max(1, stages);
  const room = Math.max(1, Math.floor((column - 16) / gap));
  const used = new Map<string, number>();
  const places = new Map<number, { x: number; y: number }>();
  for (const { microbatch, stage, direction } of flight) {
    if (stage >= stages) continue;
    const lane = `${stage} ${direction}`;
    const index = used.get(lane) ?? 0;
    used.set(lane, index + 1);
    const slot = Math.min(index, room - 1);
    const y = headHeight + (direction === "forward" ? 0.5 : 1.5) * laneHeight;
    places.set(microbatch, { x: stage * column + 8 + radius + slot * gap, y });
  }
  return places;
}

function newDot(picture: Element, microbatch: number): Dot {
  const circle = draw(picture, "circle", { r: radius });
  const dot = { circle, title: draw(circle, "title", {}) };
  dots.set(microbatch, dot);
  return dot;
}

function drawLanes(picture: Element, { stages, width }: { stages: number; width: number }): void {
  drawn = `${stages} ${width}`;
  dots.clear();
  picture.replaceChildren();
  picture.setAttribute("viewBox", `0 0 ${width} ${flightHeight}`);
  const column = width / Math.max(1, stages);
  const named = Math.max(1, Math.ceil(48 / column)); // a name fits every so many stages
  for (let stage = 0; stage < stages; stage++) {
    const x = stage * column + 2;
    const size = { x, y: headHeight, width: Math.max(1, column - 4), height: 2 * laneHeight, rx: 4 };
    draw(picture, "rect", { class: "lane", ...size });
    if (stage % named === 0) draw(picture, "text", { x: x + 4, y: headHeight - 5 }, `stage ${stage}`);
  }
}
