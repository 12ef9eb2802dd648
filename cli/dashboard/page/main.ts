/// <reference lib="dom" />
/** The dashboard's program: follows the run and draws at most once a frame. */

import type { RunSnapshot } from "../public_run.ts";
import { byId, setText } from "./elements.ts";
import { followRun } from "./follow_run.ts";
import { drawLoss } from "./loss_chart.ts";
import { showMembers } from "./members.ts";
import { showPipeline } from "./pipeline.ts";
import { showSummary } from "./summary.ts";

let waiting: RunSnapshot | null = null; // the state to draw in the next frame

function draw(): void {
  const state = waiting;
  waiting = null;
  if (state === null) return;
  showSummary(state.run);
  drawLoss(byId("loss"), state.run);
  showPipeline(byId("stages"), state);
  showMembers(byId("members"), byId("more"), state);
}

followRun({
  onState(state) {
    if (waiting === null) requestAnimationFrame(draw);
    waiting = state;
  },
  onLink: (text) => setText(byId("link"), text),
});
