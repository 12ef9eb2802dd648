/// <reference lib="dom" />
/** The loss chart's controls: zoom by dragging over steps, and smoothing. */

import { byId } from "../parts/elements.ts";
import { draw } from "../parts/svg.ts";
import type { StepRange } from "./loss_chart.ts";
import { stepAt, type StepAxis } from "./readout.ts";

const leastDrag = 8; // less is a click

export class LossTools {
  readonly #chart = byId("loss");
  readonly #out = byId("zoom-out");
  readonly #onChange: () => void;
  #axis: StepAxis | null = null;
  #zoom: StepRange | null = null;
  #from: number | null = null; // while the pointer is down
  #band: Element | null = null;

  constructor(onChange: () => void) {
    this.#onChange = onChange;
    this.#chart.addEventListener("pointerdown", (event) => this.#begin(event as PointerEvent));
    this.#chart.addEventListener("pointermove", (event) => this.#drag(this.#placeOf(event as PointerEvent)));
    this.#chart.addEventListener("pointerup", (event) => this.#end(this.#placeOf(event as PointerEvent)));
    this.#chart.addEventListener("pointercancel", () => this.#forget());
    this.#chart.addEventListener("dblclick", () => this.#choose(null));
    this.#out.addEventListener("click", () => this.#choose(null));
    byId("smoothing").addEventListener("input", onChange);
  }

  get zoom(): StepRange | null {
    return this.#zoom;
  }

  get smoothing(): number {
    return Number((byId("smoothing") as HTMLInputElement).value);
  }

  drawn(axis: StepAxis | null): void {
    this.#axis = axis;
    if (this.#band !== null) this.#chart.append(this.#band);
  }

  #placeOf({ clientX }: PointerEvent): number {
    const { left = 0, right = 0 } = this.#axis ?? {};
    return Math.min(right, Math.max(left, clientX - this.#chart.getBoundingClientRect().left));
  }

  #begin(event: PointerEvent): void {
    if (this.#axis === null || event.button !== 0) return;
    event.preventDefault(); // select no text
    this.#chart.setPointerCapture(event.pointerId);
    this.#from = this.#placeOf(event);
  }

  #drag(to: number): void {
    if (this.#from === null) return;
    this.#band ??= draw(this.#chart, "rect", { class: "band", y: 0, height: "100%" });
    this.#band.setAttribute("x", String(Math.min(this.#from, to)));
    this.#band.setAttribute("width", String(Math.abs(to - this.#from)));
  }

  #end(to: number): void {
    const [from, axis] = [this.#from, this.#axis];
    this.#forget();
    if (from === null || axis === null || Math.abs(to - from) < leastDrag) return;
    const [low, high] = [stepAt(Math.min(from, to), axis), stepAt(Math.max(from, to), axis)];
    if (low !== null && high !== null && high > low) this.#choose({ low, high });
  }

  #forget(): void {
    this.#band?.remove();
    this.#band = null;
    this.#from = null;
  }

  #choose(zoom: StepRange | null): void {
    this.#zoom = zoom;
    this.#out.hidden = zoom === null;
    this.#onChange();
  }
}
