/// <reference lib="dom" />
/** Marks the step under the pointer in a chart and shows its values, or the newest ones. */

import { byId, setText } from "../parts/elements.ts";
import { placeOn } from "../parts/axis.ts";
import { draw } from "../parts/svg.ts";

/** In pixels, with the steps at both ends. */
export interface StepAxis {
  readonly left: number;
  readonly right: number;
  readonly first: number;
  readonly last: number;
}

export class Readout {
  readonly #chart: Element;
  readonly #text: Element;
  #axis: StepAxis | null = null;
  #words: (step: number) => string = () => "";
  #pointerX: number | null = null;
  #line: Element | null = null;

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

/** Null beside the axis. */
export function stepAt(x: number, { left, right, first, last }: StepAxis): number | null {
  if (x < left - 8 || x > right + 8) return null;
  const share = Math.min(1, Math.max(0, (x - left) / (right - left)));
  return Math.round(first + share * (last - first));
}

/** Each value is the mean of `stride` steps; the last ends with step `newest`. */
export function valueAt(
  values: readonly (number | null)[],
  { step, stride, newest }: { step: number; stride: number; newest: number },
): number | null {
  const index = values.length - 1 - Math.floor((newest - step) / stride);
  return step > newest ? null : values[index] ?? null;
}
