/// <reference lib="dom" />
/** The dashboard's program: follows the run and draws at most once a frame. */

import type { RunSnapshot } from "../public_run.ts";
import { byId, setText } from "./elements.ts";
import { followRun } from "./follow_run.ts";
import { drawLoss } from "./loss_chart.ts";
import { showMembers } from "./members.ts";
import { showPipeline } from "./pipeline.ts";
import { showSummary } from "./summary.ts";

let state: RunSnapshot | null = null;
let isDrawing = false; // in the next frame

function draw(): void {
  isDrawing = false;
  if (state === null) return;
  showSummary(state.run);
  drawLoss(byId("loss"), state.run);
  showPipeline(byId("stages"), state);
  showMembers(byId("members"), byId("more"), state);
}

function drawSoon(): void {
  if (!isDrawing) requestAnimationFrame(draw);
  isDrawing = true;
}

addEventListener("resize", drawSoon);
followRun({
  onState(next) {
    state = next;
    drawSoon();
  },
  onLink: (text) => setText(byId("link"), text),
});
