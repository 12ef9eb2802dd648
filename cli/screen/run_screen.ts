/**
 * Shows a run while it happens, in the form the output asks for: a live screen, plain lines, or JSON lines.
 *
 * Owns: the view, how often the screen is drawn (at most ten times a second, once a second when nothing happens, for the clock).
 * The caller passes records in and closes it; it never decides anything.
 */

import type { RunRecord } from "../../core/protocol/record.ts";
import type { Output } from "../output/output.ts";
import { addEvent, applyRecord } from "./apply_record.ts";
import { frame } from "./panels.ts";
import { createPlainLines, timedLine } from "./plain.ts";
import type { ChainActivity, RunView, WireCost } from "./view.ts";

const frameMs = 100;
const clockMs = 1_000;

export interface RunScreenOptions {
  readonly output: Output;
  readonly view: RunView;
  readonly nowMs: () => number;
}

export interface RunScreen {
  readonly view: RunView;
  record(record: RunRecord): void;
  /** Where the run is taken up. */
  begin(at: { step: number; round: number }): void;
  /** A record of an earlier life: known, but not told again. */
  replay(record: RunRecord): void;
  /** What the boundaries cost, once measured. */
  wire(cost: WireCost): void;
  /** What the run's own chain has done. */
  chain(activity: ChainActivity): void;
  /** What no record tells, as a line of its own. */
  note(label: string, text: string): void;
  close(): void;
}

export function openRunScreen({ output, view, nowMs }: RunScreenOptions): RunScreen {
  const region = output.openLive();
  const plain = createPlainLines();
  let drawnAtMs = -Infinity;
  let pending: ReturnType<typeof setTimeout> | null = null;

  const draw = () => {
    if (region === null) return;
    drawnAtMs = nowMs();
    region.draw(frame(view, { ...region.room(), nowMs: drawnAtMs, paint: output.paint }));
  };
  const drawSoon = () => {
    if (region === null || pending !== null) return;
    const waitMs = Math.max(0, drawnAtMs + frameMs - nowMs());
    const timer = setTimeout(() => {
      pending = null;
      draw();
    }, waitMs);
    Deno.unrefTimer(timer);
    pending = timer;
  };
  /** The screen shows it in its own way; a log file gets every line all the same. */
  const tell = (lines: readonly string[]) => {
    drawSoon();
    for (const line of lines) {
      if (region === null) output.line(line);
      else output.keep(line);
    }
  };
  const ticking = region === null ? null : setInterval(drawSoon, clockMs);
  if (ticking !== null) Deno.unrefTimer(ticking);
  draw();

  return {
    view,
    record(record) {
      const atMs = nowMs();
      applyRecord(view, record, atMs);
      output.event(record);
      if (output.mode === "json") return;
      tell(plain.of(record, view, atMs));
    },
    begin({ step, round }) {
      Object.assign(view, { step, round, stepAtStart: step });
      if (step > 0) output.event({ type: "takenUp", step, round });
      drawSoon();
    },
    replay: (record) => applyRecord(view, record, nowMs()),
    wire(cost) {
      view.wire = cost;
      drawSoon();
    },
    chain(activity) {
      view.chain = activity;
      drawSoon();
    },
    note(label, text) {
      const atMs = nowMs();
      addEvent(view, { text, level: "warn", nowMs: atMs });
      tell([timedLine(`${label.padEnd(8)} ${text}`, { view, nowMs: atMs })]);
    },
    close() {
      if (pending !== null) clearTimeout(pending);
      if (ticking !== null) clearInterval(ticking);
      draw();
      output.closeLive();
    },
  };
}
