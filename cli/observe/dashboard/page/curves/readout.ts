/// <reference lib="dom" />
/**
 * The values of a chart at the step under the pointer, as text below it, and a line through that step. Without a
 * pointer, the newest values.
 */

import { byId, setText } from "../parts/elements.ts";
import { placeOn } from "../parts/axis.ts";
import { draw } from "../parts/svg.ts";

/** In pixels of the drawing. */
export interface StepAxis {
  readonly left: number;
  readonly right: number;
  readonly first: number; // step at `left`
  readonly last: number; // step at `right`
}

export class Readout {
  readonly #chart: Element;
  readonly #text: Element;
  #axis: StepAxis | null = null;
  #words: (step: number) => string = () => "";
  #pointerX: number | null = null; // of the window
  #line: Element | null = null; // through the step

  constructor(chart: string, text: string) {
    this.#chart = byId(chart);
    this.#text = byId(text);
    this.#chart.addEventListener("pointermove", (event) => this.#point((event as PointerEvent).clientX));
    this.#chart.addEventListener("pointerleave", () => this.#point(null));
  }

  show(axis: StepAxis | null, words: (step: number) => string): void {
    this.#axis = axis;
    this.#words = words;
    this.#write();
  }

  #point(x: number | null): void {
    this.#pointerX = x;
    this.#write();
  }

  #write(): void {
    const [x, axis] = [this.#pointerX, this.#axis];
    const step = x === null || axis === null ? null : stepAt(x - this.#chart.getBoundingClientRect().left, axis);
    setText(this.#text, step === null ? "" : this.#words(step));
    this.#line?.remove();
    if (step === null || axis === null) return;
    const at = placeOn({ low: axis.first, high: axis.last }, { from: axis.left, to: axis.right })(step);
    this.#line = draw(this.#chart, "line", { class: "cursor", x1: at, x2: at, y1: 0, y2: "100%" });
  }
}

/** The nearest step; null beside the axis. */
export function stepAt(x: number, { left, right, first, last }: StepAxis): number | null {
  if (x < left - 8 || x > right + 8) return null;
  const share = Math.min(1, Math.max(0, (x - left) / (right - left)));
  return Math.round(first + share * (last - first));
}

/** The value that stands for a step: each is the mean of `stride` steps, the last one ends with step `newest`. */
export function valueAt(
  values: readonly (number | null)[],
  { step, stride, newest }: { step: number; stride: number; newest: number },
): number | null {
  const index = values.length - 1 - Math.floor((newest - step) / stride);
  return step > newest ? null : values[index] ?? null;
}
