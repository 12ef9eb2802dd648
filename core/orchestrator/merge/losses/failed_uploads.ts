/**
 * Payloads that did not arrive, and who answers for that.
 *
 * A miner whose payload is missing has withheld it, unless no payload of the round arrived at all, or the orchestrator cannot
 * upload to its own public address: then its side refuses uploads, and nobody is blamed. What a miner says of its upload decides
 * nothing; it only has the address probed. Judged once all stages have the payloads that they will get and the probe is answered.
 */

import type { NodeId } from "../../../ids.ts";
import { vectorBytes } from "../../../model/vector_bytes.ts";
import type { OrchestratorEffect } from "../../event.ts";
import { noteWithheld } from "../../members/blame.ts";
import type { OrchestratorState } from "../../state.ts";
import type { FailedUpload } from "./loss_state.ts";
import { largestOf } from "../../step/scale_book.ts";

/** The node's payload did not come in time, or it says that none will come. */
export function noteNoPayload(state: OrchestratorState, node: NodeId): void {
  state.losses.failed.push({ node, duty: "committing", round: state.round, didOthers: null });
}

/** The node says that an upload failed. Payloads of a merge have arrived when it is reduced. */
export function noteFailedUpload(
  state: OrchestratorState,
  { node, duty }: Pick<FailedUpload, "node" | "duty">,
): OrchestratorEffect[] {
  state.losses.failed.push({ node, duty, round: state.round, didOthers: duty === "committing" ? null : true });
  return probeUploads(state);
}

export function probeUploads(state: OrchestratorState): OrchestratorEffect[] {
  if (state.losses.probe.status !== "none") return [];
  state.losses.probe.status = "asked";
  return [probeEffect(state)];
}

/** As large as the largest vector that a miner uploads. */
const probeEffect = ({ stageFloats }: OrchestratorState): OrchestratorEffect => ({
  type: "probeUploads",
  bytes: vectorBytes(largestOf(stageFloats) ?? 0),
});

/** The last process took the answer with it. */
export const resumeProbe = (state: OrchestratorState): OrchestratorEffect[] =>
  state.losses.probe.status === "asked" ? [probeEffect(state)] : [];

/** A new merge, or a new attempt: what was found before may have changed. */
export function forgetProbe({ losses: { probe } }: OrchestratorState): void {
  if (probe.status === "answered") probe.status = "none";
  probe.refusal = null;
}

export function judgeFailedUploads(state: OrchestratorState): void {
  const { losses: { failed, probe }, merge, round } = state;
  if (failed.length === 0) return;
  if (merge?.stages.some(({ phase }) => phase === "committing") === true) return;
  const didArrive = merge?.stages.some(({ payloads }) => payloads.size > 0) === true;
  for (const each of failed) each.didOthers ??= each.round === round && didArrive;
  if (probe.status === "asked") return;
  for (const { node, duty, round: ofRound, didOthers } of failed.splice(0)) {
    if (didOthers === true && probe.refusal === null) noteWithheld(state, { node, duty, ofRound });
  }
}
