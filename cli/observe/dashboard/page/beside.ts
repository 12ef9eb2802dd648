/// <reference lib="dom" />
/** A second run at the shown step: its curves, numbers and text. */

import { short } from "../../../terminal/text/format.ts";
import type { PublicRun, RunSnapshot } from "../../public/public_shape.ts";
import { byId, childAt, keepChildren, setText } from "./parts/elements.ts";
import { progressFacts, qualityFacts } from "./summary.ts";

const againMs = 3_000;

export class BesidePanel {
  readonly #drawSoon: () => void;
  #other: PublicRun | null = null;
  #shown: number | null = null;
  #asked: number | null = null; // step of `#other`, or asked for
  #isAsking = false;

  constructor(drawSoon: () => void) {
    this.#drawSoon = drawSoon;
    setInterval(() => {
      if (this.#asked !== this.#shown || this.#isBehind()) void this.#ask();
    }, againMs);
  }

  get other(): PublicRun | null {
    return this.#other;
  }

  show(run: PublicRun): void {
    this.#shown = run.step;
    if (this.#asked !== run.step) void this.#ask();
    if (this.#other !== null) showTable(run, this.#other);
  }

  #isBehind(): boolean {
    const { phase = "stopped", step = 0 } = this.#other ?? {};
    return phase !== "finished" && phase !== "stopped" && step < (this.#shown ?? 0);
  }

  async #ask(): Promise<void> {
    if (this.#isAsking) return;
    this.#isAsking = true;
    do {
      this.#asked = this.#shown;
      const response = await fetch(`/api/v1/beside?step=${this.#asked}`).catch(() => null);
      if (response?.ok !== true) {
        this.#asked = null;
        break;
      }
      const { run } = await response.json() as RunSnapshot;
      this.#other = run;
      this.#drawSoon();
    } while (this.#asked !== this.#shown);
    this.#isAsking = false;
  }
}

function showTable(run: PublicRun, other: PublicRun): void {
  const { name, size, parameters, step, steps } = other;
  const about = `Beside it: ${name}, ${size}, ${short(parameters)} parameters, at step ${step} of ${steps}`;
  setText(byId("beside-about"), step < run.step ? `${about}; it has not come further` : about);
  const [own, its] = [run, other].map((each) => [...progressFacts(each), ...qualityFacts(each), ...textFact(each)]);
  own!.forEach(({ label, value }, i) => {
    const row = childAt(byId("beside-facts"), i, "tr");
    const head = childAt(row, 0, "th");
    head.setAttribute("scope", "row");
    setText(head, label);
    [value, its![i]!.value].forEach((text, column) => {
      const cell = childAt(row, column + 1, "td");
      if (cell.dir !== "auto") cell.dir = "auto";
      setText(cell, text);
    });
  });
  keepChildren(byId("beside-facts"), own!.length);
}

function textFact({ samples }: PublicRun): { label: string; value: string }[] {
  const sample = samples.at(-1);
  const value = sample === undefined ? "–" : `step ${sample.step}: ${sample.prompt}${sample.text}`;
  return [{ label: "Newest text", value }];
}
