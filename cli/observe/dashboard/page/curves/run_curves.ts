/// <reference lib="dom" />
/** A run's curves: losses, tokens per second, ready miners, bytes per trained token. */

import { decimal } from "../../../../terminal/text/format.ts";
import type { PublicRun } from "../../../public/public_shape.ts";
import { byId, setText } from "../parts/elements.ts";
import { columnsOf, drawColumns, drawLine, type StepPlaces } from "./curve_chart.ts";
import { drawLoss, type LossView, lossWords } from "./loss_chart.ts";
import { LossTools } from "./loss_tools.ts";
import { Readout, type StepAxis, valueAt } from "./readout.ts";

const kinds = ["wires", "merge", "parameters", "control"] as const;
const kindNames = { wires: "wires", merge: "merges", parameters: "parameters", control: "messages" } as const;
const mostColumns = 48;

export class CurvesPanel {
  readonly #tools: LossTools;
  readonly #loss = new Readout("loss", "loss-at");
  readonly #speed = new Readout("speed", "speed-at");
  readonly #bytes = new Readout("bytes", "bytes-at");
  readonly #miners = new Readout("miners", "miners-at");

  constructor(drawSoon: () => void) {
    this.#tools = new LossTools(drawSoon);
  }

  /** `last`: the run's newest step, so that a past moment is drawn in its place. */
  show(run: PublicRun, { other, last }: Pick<LossView, "other" | "last">): void {
    const { curves, step, bytes } = run;
    const { zoom, smoothing } = this.#tools;
    const axis = drawLoss(byId("loss"), run, { other, last, zoom, smoothing });
    this.#tools.drawn(axis);
    this.#loss.show(axis, (at) => lossWords(run, at));
    const places: StepPlaces = { stride: curves.stride, newest: step - curves.pending, last: Math.max(step, last) };
    this.#line(this.#speed, { id: "speed", values: curves.tokensPerSecond, unit: "tokens/s", places });
    this.#line(this.#miners, { id: "miners", values: curves.miners, unit: "miners", places });
    this.#bytes.show(drawBytes(run, places), (at) => {
      const parts = kinds.map((kind) => ({
        kind,
        value: valueAt(curves.bytesPerToken[kind], { ...places, step: at }),
      }));
      const words = parts.flatMap(({ kind, value }) => value === null ? [] : [`${kindNames[kind]} ${decimal(value)}`]);
      return `step ${decimal(at)}: ${words.length === 0 ? "not measured" : `${words.join(", ")} B/token`}`;
    });
    const total = kinds.reduce((sum, kind) => sum + bytes[kind], 0);
    setText(byId("bytes-share"), total === 0 ? "" : sharesText(bytes, total));
  }

  #line(readout: Readout, { id, values, unit, places }: Line): void {
    readout.show(drawLine(byId(id), { ...places, values, unit }), (at) => {
      const value = valueAt(values, { ...places, step: at });
      return `step ${decimal(at)}: ${value === null ? "not measured" : `${decimal(value)} ${unit}`}`;
    });
  }
}

interface Line {
  readonly id: string;
  readonly values: readonly (number | null)[];
  readonly unit: string;
  readonly places: StepPlaces;
}

function drawBytes({ curves }: PublicRun, places: StepPlaces): StepAxis | null {
  const columns = columnsOf(kinds.map((kind) => curves.bytesPerToken[kind]), mostColumns);
  const names = kinds.map((kind) => kindNames[kind]);
  return drawColumns(byId("bytes"), { ...places, columns, names, classes: kinds, unit: "bytes per token" });
}

function sharesText(bytes: PublicRun["bytes"], total: number): string {
  const shares = kinds.map((kind) => `${kindNames[kind]} ${decimal((100 * bytes[kind]) / total)} %`);
  return `of all bytes: ${shares.join(", ")}`;
}
