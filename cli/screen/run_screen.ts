/**
 * Shows a run to people while it happens: as a live screen or as plain lines, whichever the output asks for.
 *
 * Owns: how often the screen is drawn (at most ten times a second, once a second when nothing happens, for the clock). Out of
 * scope: `--json` (json_lines.ts) and any decision.
 */

import type { ConsumerContext, ProjectionConsumer } from "../projection/consumer.ts";
import { frame } from "./panels.ts";
import { createPlainLines } from "./plain.ts";

const frameMs = 100;
const clockMs = 1_000;

export function openRunScreen({ output, view, nowMs }: ConsumerContext): ProjectionConsumer {
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
  const ticking = region === null ? null : setInterval(drawSoon, clockMs);
  if (ticking !== null) Deno.unrefTimer(ticking);
  draw();

  return {
    onRecord({ record, atMs }) {
      if (output.mode === "json") return;
      drawSoon();
      for (const line of plain.of(record, view, atMs)) {
        if (region === null) output.line(line);
        else output.keep(line); // the screen shows it in its own way; a log file gets every line all the same
      }
    },
    close() {
      if (pending !== null) clearTimeout(pending);
      if (ticking !== null) clearInterval(ticking);
      draw();
      output.closeLive();
    },
  };
}
