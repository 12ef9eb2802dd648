/// <reference lib="dom" />
/** The dashboard's program: follows a run or opens a recording, and draws at most once a frame. */

import type { RunSnapshot } from "../../public/public_shape.ts";
import { byId, setText } from "./parts/elements.ts";
import { addressPart } from "./parts/address.ts";
import { AccountPanel, servedAccount } from "./account.ts";
import { BesidePanel } from "./beside.ts";
import { EarningsPanel, servedEarnings } from "./earnings.ts";
import { CurvesPanel } from "./curves/run_curves.ts";
import { showFlight } from "./pipeline/flight.ts";
import { followRun } from "./follow_run.ts";
import { showAgreement } from "./agreement.ts";
import { showMember } from "./member_page.ts";
import { showMembers } from "./members.ts";
import { OwnerPanel } from "./owner.ts";
import { recordedPast, recordingHere, servedPast } from "./past.ts";
import { PathwayPanel, servedPathway } from "./microbatch/pathway.ts";
import { showSamples } from "./samples.ts";
import { showPipeline } from "./pipeline/pipeline.ts";
import { showSummary } from "./summary.ts";
import { TimeTravel } from "./time_travel.ts";
import { showValidators } from "./validators.ts";

let state: RunSnapshot | null = null;
let pathways: PathwayPanel | null = null;
let account: AccountPanel | null = null;
let beside: BesidePanel | null = null;
let owner: OwnerPanel | null = null;
let earned: EarningsPanel | null = null;
let newestStep = 0;
const curves = new CurvesPanel(drawSoon);
let isDrawing = false;

function draw(): void {
  isDrawing = false;
  if (state === null) return;
  showSummary(state);
  beside?.show(state.run);
  showSamples(state.run);
  earned?.show(state);
  const isAlone = [byId("sampling"), byId("earned")].every(({ hidden }) => hidden === true);
  byId("first").classList.toggle("alone", isAlone); // first, because it sets the curves' width
  curves.show(state.run, { other: beside?.other ?? null, last: newestStep });
  showPipeline(byId("stages"), state);
  showFlight(state.run);
  pathways?.show(state);
  showAgreement(state.run);
  showMember(state);
  owner?.show(state.run);
  account?.show(state);
  showValidators(state);
  showMembers(byId("members"), byId("more"), state);
}

function drawSoon(): void {
  if (!isDrawing) requestAnimationFrame(draw);
  isDrawing = true;
}

function show(next: RunSnapshot): void {
  state = next;
  drawSoon();
}

function follow(): void {
  const time = new TimeTravel({ openPast: servedPast, show });
  followRun({
    onState: (next) => {
      newestStep = next.run.step;
      void time.take(next);
    },
    onLink: (text) => setText(byId("link"), text),
  });
}

async function open(): Promise<void> {
  addEventListener("resize", drawSoon);
  addEventListener("hashchange", drawSoon);
  byId("find").addEventListener("input", drawSoon);
  byId("developer").addEventListener("toggle", drawSoon); // a folded part has no width
  if (addressPart("microbatch") !== null) (byId("developer") as HTMLDetailsElement).open = true;
  const recording = await recordingHere();
  account = new AccountPanel({ ask: recording === null ? servedAccount : null, drawSoon });
  pathways = new PathwayPanel({ ask: recording === null ? servedPathway : null, drawSoon });
  const recorded = recording?.earnings ?? null;
  earned = new EarningsPanel({ ask: recording === null ? servedEarnings : () => Promise.resolve(recorded), drawSoon });
  if (document.getElementById("owner") !== null) owner = new OwnerPanel();
  if (document.getElementById("beside") !== null) beside = new BesidePanel(drawSoon);
  if (recording === null) return follow();
  const past = recordedPast(recording);
  const newest = await past.at(recording.span.last);
  setText(byId("link"), "A recording");
  const time = new TimeTravel({ openPast: () => Promise.resolve(past), show });
  if (newest === null) return;
  newestStep = newest.run.step;
  await time.take(newest);
}

await open();
