/**
 * The new round's parameters on their way into the store: one replica of each stage uploads them, the shell writes the
 * checkpoint, then newcomers and validators fetch them.
 *
 * Runs beside training; the next merge waits for it, so that the store always holds a round's parameters or the inputs
 * to compute them. A holder that does not deliver is replaced by another, finally by the orchestrator, which repeats
 * the merge. If its hash differs from the agreed one, its own counts: nobody holds the agreed one any more.
 */

import { present } from "../../assert.ts";
import { fault } from "../../fault.ts";
import type { NodeId, StageIndex } from "../../ids.ts";
import type { ParameterSource } from "../../protocol/message.ts";
import type { ParametersUploaded } from "../../protocol/merge_messages.ts";
import { mostFollowed } from "../../protocol/stored_source.ts";
import { sourceName } from "../../statements/statement.ts";
import { evaluatePublished } from "../audit/held_out/evaluation_pace.ts";
import { dropReplays } from "../audit/auditing.ts";
import { isUnreliable, noteAbsence } from "../members/blame.ts";
import { type OrchestratorEffect, record, reject, send } from "../event.ts";
import { isSameStage, type MergedStage, type Reducer, type StageUpload, type UploadWork } from "./merge_state.ts";
import { closingMs } from "../closing.ts";
import { checkUpload } from "./believed_upload.ts";
import { noteFailedUpload } from "./losses/failed_uploads.ts";
import { keepMerge } from "../members/catching_up.ts";
import type { Member, OrchestratorState } from "../state.ts";
import { deleteUnused, usedBlobs } from "../stored_blobs.ts";

export function continueUpload(state: OrchestratorState, nowMs: number): OrchestratorEffect[] {
  const { upload } = state;
  if (upload === null || upload.writing) return [];
  const effects: OrchestratorEffect[] = [];
  for (const stage of upload.stages) {
    if (stage.stored || stage.asked !== null) continue;
    stage.holders = stage.holders.filter((node) => state.members.has(node));
    stage.asked = firstToAsk(state, stage);
    stage.deadlineMs = nowMs + state.config.limits.mergePhaseMs;
    effects.push(
      stage.asked === "hub"
        ? repeatMerge(state, stage)
        : send(stage.asked, { type: "uploadParameters", round: upload.round }),
    );
  }
  if (upload.stages.every((stage) => stage.stored)) {
    upload.writing = true;
    effects.push(writeCheckpoint(upload));
  }
  return effects;
}

/** A holder that delayed an upload comes after the orchestrator, unless that cannot do it. */
function firstToAsk(state: OrchestratorState, { holders, isHubUnable }: StageUpload): Reducer {
  const reliable = holders.find((node) => !isUnreliable(state, { node, duty: "uploading" }));
  return reliable ?? (isHubUnable ? holders[0] : undefined) ?? "hub";
}

export function writeCheckpoint(upload: UploadWork): OrchestratorEffect {
  return { type: "writeCheckpoint", round: upload.round, step: upload.step, sources: sourcesOf(upload) };
}

/** For when no replica has the parameters. After a rollback there are no slices. */
export function repeatMerge(
  state: OrchestratorState,
  { stage, slices }: StageUpload,
): OrchestratorEffect {
  const { round, stages } = state.sources;
  return { type: "refereeMerge", round, stage, source: present(stages[stage], "every stage has a source"), slices };
}

export function uploadOfHub(
  { sources, upload }: OrchestratorState,
  { round, stage }: { round: number; stage: StageIndex },
): StageUpload | null {
  const asked = round === sources.round ? upload?.stages[stage] : undefined;
  return asked?.asked === "hub" && !asked.stored ? asked : null;
}

export function onMergeRepeated(
  state: OrchestratorState,
  options: { round: number; stage: StageIndex; merged: MergedStage },
): OrchestratorEffect[] {
  const stage = uploadOfHub(state, options);
  if (stage === null) return [];
  stage.stored = true;
  if (isSameStage(stage.merged, options.merged)) return [];
  stage.merged = options.merged;
  const { round } = state;
  state.replaced.add(stage.stage);
  dropReplays(state, { round, stage: stage.stage });
  const what = `Stage ${stage.stage} of round ${round}`;
  const text = stage.slices.length > 0
    ? `${what} did not match what its replicas reported; the orchestrator merged it itself`
    : `${what} begins with other parameters than those of the rollback, which the store has lost`;
  return [record({ type: "warning", text })];
}

export function replaceLateUploaders(state: OrchestratorState, nowMs: number): OrchestratorEffect[] {
  const effects: OrchestratorEffect[] = [];
  for (const stage of state.upload?.stages ?? []) {
    const { asked } = stage;
    if (stage.stored || asked === null || asked === "hub" || stage.deadlineMs > nowMs) continue;
    const note = state.members.get(asked)?.graceUntilMs === null ? noteFailedUpload : noteAbsence;
    note(state, { node: asked, duty: "uploading" });
    stage.holders = stage.holders.filter((holder) => holder !== asked);
    stage.asked = null;
    effects.push(
      record({ type: "mergeLate", round: state.round, stage: stage.stage, node: asked, phase: "uploading" }),
    );
  }
  return effects;
}

function sourcesOf(upload: UploadWork): ParameterSource[] {
  return upload.stages.map(({ merged }) => ({ ...merged, type: "blobs" }));
}

/** With the slices that lead there from the last round's. */
function followableSources({ sources, config }: OrchestratorState, upload: UploadWork): ParameterSource[] {
  return upload.stages.map(({ merged, slices }, stage) => {
    const before = sources.stages[stage];
    const isFew = slices.length > 0 && slices.length <= mostFollowed;
    if (config.outer.momentum > 0 || before === undefined || !isFew) return { ...merged, type: "blobs" };
    return { ...merged, type: "blobs", merge: { from: sourceName(before), slices } };
  });
}

export function onParametersUploaded(
  state: OrchestratorState,
  options: { member: Member; message: ParametersUploaded },
): OrchestratorEffect[] {
  const { member, message } = options;
  const { upload } = state;
  const stage = upload?.stages.find((candidate) => candidate.asked === member.node);
  if (upload === null || stage === undefined || message.round !== upload.round || stage.stored) return [];
  if (!isSameStage(stage.merged, message)) {
    return reject(member.node, fault("badBlob", "The upload does not have the round's agreed hashes"));
  }
  if (stage.isBelieved) return [checkUpload(upload, stage)];
  stage.stored = true;
  return [];
}

export function onParametersFailed(
  state: OrchestratorState,
  { node, round }: { node: NodeId; round: number },
): void {
  const stage = state.upload?.round === round ? state.upload.stages.find(({ asked }) => asked === node) : undefined;
  if (stage === undefined || stage.stored) return;
  stage.holders = stage.holders.filter((holder) => holder !== node);
  stage.asked = null;
  noteFailedUpload(state, { node, duty: "uploading" });
}

export function replaceUploader(state: OrchestratorState, node: NodeId): void {
  for (const stage of state.upload?.stages ?? []) {
    if (stage.asked === node && !stage.stored) stage.asked = null;
    stage.holders = stage.holders.filter((holder) => holder !== node);
  }
}

export function onCheckpointWritten(
  state: OrchestratorState,
  options: { round: number; folder: string; nowMs: number },
): OrchestratorEffect[] {
  const { upload } = state;
  if (upload === null || upload.round !== options.round) return [];
  const published = publishSources(state, { upload, nowMs: options.nowMs });
  return [
    record({ type: "checkpointWritten", round: options.round, step: upload.step, folder: options.folder }),
    ...published,
    ...deleteUnused(state, upload.payloads),
    { type: "sweepBlobs", used: usedBlobs(state) },
  ];
}

function publishSources(
  state: OrchestratorState,
  { upload, nowMs }: { upload: UploadWork; nowMs: number },
): OrchestratorEffect[] {
  const { closeUntilMs } = state;
  if (closeUntilMs !== null) state.closeUntilMs = Math.max(closeUntilMs, nowMs + closingMs(state)); // to evaluate it
  if (upload.round > state.sources.round) state.losses.inARow = 0; // otherwise after a rollback to these
  state.retired.push(state.sources);
  state.sources = { round: upload.round, stages: followableSources(state, upload) };
  state.upload = null;
  state.restoring.clear();
  evaluatePublished(state, upload.round);
  return keepMerge(state, upload);
}

const mostLost = 4; // times for one stage; then the store counts as broken

/**
 * `missing`: the stage whose blob was not uploaded or was lost; another holder is asked. Null: the disk failed, and the
 * run continues; a newcomer that misses a stage has it restored.
 */
export function onCheckpointFailed(
  state: OrchestratorState,
  options: { round: number; detail: string; missing: StageIndex | null; nowMs: number },
): OrchestratorEffect[] {
  const { upload } = state;
  const { round, detail, missing } = options;
  if (upload === null || upload.round !== round) return [];
  const stage = missing === null ? undefined : upload.stages[missing];
  if (stage !== undefined && stage.lost < mostLost) {
    const { asked } = stage;
    stage.lost += 1;
    upload.writing = false;
    stage.stored = false;
    stage.holders = stage.holders.filter((holder) => holder !== asked);
    stage.asked = null;
    const text = `Stage ${missing} of round ${round} is gone from the store or damaged, where ${
      asked ?? "hub"
    } put it; asking another holder`;
    return [record({ type: "warning", text })];
  }
  const published = publishSources(state, { upload, nowMs: options.nowMs });
  const text = `The checkpoint of round ${round} was not written: ${detail}`;
  return [record({ type: "warning", text }), ...published, ...deleteUnused(state, upload.payloads)];
}
