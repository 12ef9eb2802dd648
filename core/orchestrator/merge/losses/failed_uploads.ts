/**
 * Uploads that did not arrive, and who is responsible.
 *
 * A miner whose upload is missing has missed its deadline, unless no payload of the round arrived, or the
 * orchestrator's own upload of that size to its public address is refused: then nobody is blamed. A miner's own report
 * decides nothing. A round whose payload is missed through no fault of its miner is paid like a first missed one.
 */

import type { NodeId } from "../../../ids.ts";
import { payloadCodecOf } from "../../../update/payload/payload_codecs.ts";
import { vectorBytes } from "../../../model/vector_bytes.ts";
import type { OrchestratorEffect } from "../../event.ts";
import { noteUnpaid, noteWithheld } from "../../members/blame.ts";
import type { OrchestratorState } from "../../state.ts";
import { largestOf } from "../../step/scale_book.ts";
import type { FailedUpload } from "./loss_state.ts";
import { lostStages } from "./lost_stages.ts";

type UploadDuty = FailedUpload["duty"];

export function noteFailedUpload(
  state: OrchestratorState,
  { node, duty }: { node: NodeId; duty: UploadDuty },
): void {
  const didOthers = duty === "committing" ? null : true; // a merge being reduced has payloads
  state.losses.failed.push({ node, duty, round: state.round, bytes: bytesOf(state, duty), didOthers });
}

/** The largest blob of this duty: a slice of a payload or of a result, or a stage's parameters. */
export function bytesOf(state: OrchestratorState, duty: UploadDuty): number {
  if (duty === "uploading") return vectorBytes(largestOf(state.stageFloats) ?? 0);
  const sizes = (state.merge?.stages ?? []).flatMap(({ layout }) => layout.map(({ size }) => size));
  const codec = payloadCodecOf(state.config);
  const values = largestOf(sizes) ?? 0;
  return (duty === "committing" ? codec.payloadBytes(values) : codec.resultBytes(values)).most;
}

export function probeUploads({ losses: { probe } }: OrchestratorState, bytes: number): OrchestratorEffect[] {
  if (probe.status === "asked") return [];
  probe.status = "asked";
  probe.bytes = bytes;
  return [{ type: "probeUploads", bytes }];
}

export const isProbed = ({ losses: { probe } }: OrchestratorState, bytes: number): boolean =>
  probe.status === "answered" && probe.bytes === bytes;

/** Null: accepted, or not tried. */
export const refusalOf = (state: OrchestratorState, bytes: number): string | null =>
  isProbed(state, bytes) ? state.losses.probe.refusal : null;

/** The last process took the answer with it. */
export const resumeProbe = ({ losses: { probe } }: OrchestratorState): OrchestratorEffect[] =>
  probe.status === "asked" ? [{ type: "probeUploads", bytes: probe.bytes }] : [];

export function forgetProbe({ losses: { probe } }: OrchestratorState): void {
  if (probe.status === "answered") probe.status = "none";
}

export function judgeFailedUploads(state: OrchestratorState): OrchestratorEffect[] {
  const { losses: { failed }, merge, round } = state;
  if (merge?.stages.some(({ phase }) => phase === "committing") === true) return [];
  const didArrive = merge?.stages.some(({ payloads }) => payloads.size > 0) === true;
  for (const each of failed) each.didOthers ??= each.round === round && didArrive;
  for (let next = failed[0]; next !== undefined; next = failed[0]) {
    if (next.didOthers === true) {
      if (!isProbed(state, next.bytes)) return probeUploads(state, next.bytes);
      judge(state, next);
    }
    failed.shift();
  }
  return [];
}

function judge(state: OrchestratorState, { node, duty, round, bytes }: FailedUpload): void {
  if (refusalOf(state, bytes) === null) return noteWithheld(state, { node, duty, ofRound: round });
  const isMerged = round === state.round && lostStages(state).length === 0; // a lost round pays nobody
  if (duty === "committing" && isMerged) noteUnpaid(state, { node, duty, ofRound: round });
}
