/**
 * A run's curves from its records, one row per closed step.
 *
 * Column names stay; CSV is RFC 4180. An evaluation is in the row of the last step closed before it. A repeated step
 * has two rows. Non-finite and unknown numbers are empty.
 */

import { byteKinds } from "../../../core/view/curves.ts";
import type { RunView } from "../../../core/view/view.ts";
import type { RecordOf, StampedRecord } from "../../../core/view/view_record.ts";

export const curveColumns = [
  "step",
  "at_ms",
  "round",
  "loss_nats",
  "held_out_loss_nats",
  "learning_rate",
  "gradient_norm",
  "tokens",
  "step_ms",
  "miners",
  "wire_bytes", // over the port, both ways, since the step before
  "merge_bytes",
  "parameter_bytes",
  "message_bytes",
] as const;

export type CurveRow = Record<typeof curveColumns[number], number | null>;

export class Curves {
  readonly rows: CurveRow[] = [];
  #moved: RecordOf<"bytesMoved"> | null = null;

  take({ record, atMs }: StampedRecord, view: RunView): void {
    if (record.type === "bytesMoved") this.#moved = this.#moved === null ? record : added(this.#moved, record);
    if (record.type === "stepClosed") this.#step(record, { atMs, view });
    const last = this.rows.at(-1);
    if (record.type === "evaluated" && last !== undefined) last.held_out_loss_nats = record.loss;
  }

  #step(record: RecordOf<"stepClosed">, { atMs, view }: { atMs: number; view: RunView }): void {
    const { step, round, loss, learningRate, gradientNorm, tokens, stepMs } = record;
    const miners = Object.values(view.nodes).filter(({ role, state }) => role === "miner" && state === "ready").length;
    const { wires = null, merge = null, parameters = null, control = null } = this.#moved ?? {};
    this.#moved = null;
    this.rows.push({
      ...{ step, at_ms: atMs, round, loss_nats: loss, held_out_loss_nats: null, learning_rate: learningRate },
      ...{ gradient_norm: gradientNorm, tokens, step_ms: stepMs, miners },
      ...{ wire_bytes: wires, merge_bytes: merge, parameter_bytes: parameters, message_bytes: control },
    });
  }
}

/** An ending process also records what it has moved since its last step. */
function added(a: RecordOf<"bytesMoved">, b: RecordOf<"bytesMoved">): RecordOf<"bytesMoved"> {
  const sum = { ...a };
  for (const kind of byteKinds) sum[kind] += b[kind];
  return sum;
}

export function curvesCsv(rows: readonly CurveRow[]): string {
  const lines = rows.map((row) => curveColumns.map((column) => cell(row[column])).join(","));
  return [curveColumns.join(","), ...lines].map((line) => `${line}\r\n`).join("");
}

const cell = (value: number | null): string => value !== null && Number.isFinite(value) ? String(value) : "";
