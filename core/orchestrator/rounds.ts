/**
 * The edge between two rounds: new hashes become the run's parameters, one replica of each stage uploads them, the shell
 * writes the checkpoint, waiting miners get assigned, validators get their evaluation.
 *
 * Training goes on at once after agreement; upload and checkpoint run beside it, and the next merge waits for them, so that
 * at any moment the store holds a round's parameters or what makes them. The run closes when the last checkpoint is
 * written and the validators have answered, or when closing takes too long.
 */

import { assert, present } from "../assert.ts";
import { fault } from "../fault.ts";
import type { BlobRef, NodeId, StageIndex } from "../ids.ts";
import type { ParameterSource, ParametersUploaded } from "../protocol/message.ts";
import { auditsAreDone } from "./auditing.ts";
import { type OrchestratorEffect, record, reject, send } from "./event.ts";
import { deleteUnused } from "./stored_blobs.ts";
import type { Member, MergedStage, OrchestratorState, StageMerge, StageUpload, UploadWork } from "./state.ts";

/** Books the merge once every stage has agreed. */
export function finishRound(state: OrchestratorState, nowMs: number): OrchestratorEffect[] {
  const { merge, counters } = state;
  if (merge === null || merge.stages.some((stage) => stage.phase !== "agreed")) return [];
  const miners = merge.stages.reduce((sum, stage) => sum + Math.max(stage.payloads.size, 1), 0);
  const bytes = merge.stages.reduce((sum, stage) => sum + stage.uploads.bytes, 0);
  counters.mergeBytes += bytes;
  counters.mergeMiners += miners;
  state.merge = null;
  state.round += 1;
  state.roundFirstStep = state.step;
  state.upload = {
    round: state.round,
    step: state.step,
    stages: merge.stages.map((stage) => ({
      stage: stage.stage,
      merged: present(stage.agreed, "an agreed stage"),
      slices: acceptedSlices(stage),
      holders: holdersOf(stage),
      asked: null,
      deadlineMs: Infinity,
      stored: stage.refereed !== null,
    })),
    payloads: payloadRefs(merge.stages),
    writing: false,
  };
  const effects: OrchestratorEffect[] = [
    record({
      type: "roundMerged",
      round: state.round,
      stages: merge.stages.map((stage) => ({
        stage: stage.stage,
        parameters: present(stage.agreed, "an agreed stage").parameters.hash,
        replicas: stage.applied.size,
        agree: holdersOf(stage).length === stage.applied.size,
      })),
      bytesPerMiner: bytes / miners,
      mergeMs: nowMs - merge.startedMs,
    }),
  ];
  const isLast = state.step >= state.config.train.steps;
  state.phase = isLast ? "closing" : "training";
  if (isLast) state.closeUntilMs = nowMs + state.config.limits.mergePhaseMs;
  return effects;
}

function holdersOf(stage: StageMerge): StageMerge["participants"] {
  const agreed = present(stage.agreed, "an agreed stage").parameters.hash;
  return stage.participants.filter((node) => stage.applied.get(node)?.parameters.hash === agreed);
}

function acceptedSlices(stage: StageMerge): BlobRef[] {
  return stage.slices.map((slice) => present(slice.accepted, "an agreed stage has its slices"));
}

/** Every payload and reduced slice of the merge, each once. */
function payloadRefs(stages: readonly StageMerge[]): BlobRef[] {
  const refs = new Map<string, BlobRef>();
  for (const stage of stages) {
    for (const payload of stage.payloads.values()) for (const ref of payload) refs.set(ref.hash, ref);
    for (const slice of stage.slices) for (const ref of slice.results.values()) refs.set(ref.hash, ref);
  }
  return [...refs.values()];
}

// ---------------------------------------------------------------------------------------------------- checkpoints

/** Asks a holder of each stage that is not stored yet; writes the checkpoint when all are. */
export function continueUpload(state: OrchestratorState, nowMs: number): OrchestratorEffect[] {
  const { upload } = state;
  if (upload === null || upload.writing) return [];
  const effects: OrchestratorEffect[] = [];
  for (const stage of upload.stages) {
    if (stage.stored || stage.asked !== null) continue;
    stage.holders = stage.holders.filter((node) => state.members.has(node));
    stage.asked = stage.holders[0] ?? "hub";
    stage.deadlineMs = nowMs + state.config.limits.mergePhaseMs;
    effects.push(
      stage.asked === "hub"
        ? repeatMerge(state, { round: upload.round - 1, stage })
        : send(stage.asked, { type: "uploadParameters", round: upload.round }),
    );
  }
  if (upload.stages.every((stage) => stage.stored)) {
    upload.writing = true;
    effects.push({ type: "writeCheckpoint", round: upload.round, step: upload.step, sources: sourcesOf(upload) });
  }
  return effects;
}

/** Every replica that had the parameters is gone: what made them is still here. */
function repeatMerge(
  state: OrchestratorState,
  { round, stage }: { round: number; stage: StageUpload },
): OrchestratorEffect {
  const source = present(state.sources.stages[stage.stage], "a source a stage");
  return { type: "refereeMerge", round, stage: stage.stage, source, slices: stage.slices };
}

export function onMergeRepeated(
  state: OrchestratorState,
  options: { round: number; stage: StageIndex; merged: MergedStage },
): void {
  const stage = state.upload?.round === options.round + 1 ? state.upload.stages[options.stage] : undefined;
  if (stage?.asked !== "hub") return;
  assert(isSame(stage.merged, options.merged), "The hub's own merge must have the round's agreed hash");
  stage.stored = true;
}

/** Holders that do not deliver; the caller loses them. */
export function lateUploaders(state: OrchestratorState, nowMs: number): NodeId[] {
  const late = state.upload?.stages.filter((stage) => !stage.stored && stage.deadlineMs <= nowMs) ?? [];
  return late.flatMap((stage) => stage.asked === null || stage.asked === "hub" ? [] : [stage.asked]);
}

function sourcesOf(upload: UploadWork): ParameterSource[] {
  return upload.stages.map(({ merged }) => ({ ...merged, type: "blobs" }));
}

export function onParametersUploaded(
  state: OrchestratorState,
  options: { member: Member; message: ParametersUploaded },
): OrchestratorEffect[] {
  const { member, message } = options;
  const { upload } = state;
  const stage = upload?.stages.find((candidate) => candidate.asked === member.node);
  if (upload === null || stage === undefined || message.round !== upload.round || stage.stored) return [];
  const { merged } = stage;
  if (!isSame(merged, message)) {
    return reject(member.node, fault("badBlob", "Cannot take an upload as it must have the round's agreed hash"));
  }
  stage.stored = true;
  return [];
}

function isSame(merged: MergedStage, message: MergedStage): boolean {
  return merged.parameters.hash === message.parameters.hash && merged.momentum?.hash === message.momentum?.hash;
}

/** A holder is gone: another one uploads. */
export function replaceUploader(state: OrchestratorState, node: Member["node"]): void {
  for (const stage of state.upload?.stages ?? []) {
    if (stage.asked === node && !stage.stored) stage.asked = null;
    stage.holders = stage.holders.filter((holder) => holder !== node);
  }
}

export function onCheckpointWritten(
  state: OrchestratorState,
  options: { round: number; folder: string },
): OrchestratorEffect[] {
  const { upload } = state;
  if (upload === null || upload.round !== options.round) return [];
  publishSources(state, upload);
  return [
    record({ type: "checkpointWritten", round: options.round, step: upload.step, folder: options.folder }),
    ...deleteUnused(state, upload.payloads),
  ];
}

function publishSources(state: OrchestratorState, upload: UploadWork): void {
  state.retired.push(state.sources);
  state.sources = { round: upload.round, stages: sourcesOf(upload) };
  state.upload = null;
  state.audit.pending.push({ type: "evaluate", round: upload.round });
}

/** The disk refused: the blobs are still in the store, so the run goes on and the next round tries again. */
export function onCheckpointFailed(
  state: OrchestratorState,
  options: { round: number; detail: string },
): OrchestratorEffect[] {
  const { upload } = state;
  if (upload === null || upload.round !== options.round) return [];
  publishSources(state, upload);
  const text = `The checkpoint of round ${options.round} was not written: ${options.detail}`;
  return [record({ type: "warning", text }), ...deleteUnused(state, upload.payloads)];
}

// ---------------------------------------------------------------------------------------------------------- closing

/** Ends the run once everything that was promised is there, or time is up. */
export function closeRun(state: OrchestratorState, nowMs: number): OrchestratorEffect[] {
  if (state.phase !== "closing") return [];
  const hasValidator = [...state.members.values()].some((member) => member.role === "validator");
  const isComplete = state.upload === null && (!hasValidator || auditsAreDone(state));
  if (!isComplete && nowMs < present(state.closeUntilMs, "a closing deadline")) return [];
  return finish(state, { finished: true, reason: "all steps are done" });
}

export function finish(
  state: OrchestratorState,
  options: { finished: boolean; reason: string },
): OrchestratorEffect[] {
  if (state.phase === "finished") return [];
  state.phase = "finished";
  const stops = [...state.members.keys()].map((node) => send(node, { type: "stop", ...options }));
  const held = heldSegments(state);
  return [
    ...stops,
    ...(held.length === 0 ? [] : [{ type: "release" as const, refs: held }]),
    record({ type: "runFinished", step: state.step, ...options }),
    { type: "finish", ...options },
  ];
}

/** Wires of the open step and of audits that nobody will answer. */
function heldSegments(state: OrchestratorState): BlobRef[] {
  const flows = state.work?.flows ?? [];
  const wires = flows.flatMap((flow) => [...flow.wires, ...flow.gradients].filter((ref) => ref !== null));
  return [...wires, ...state.audit.held.flatMap((entry) => entry.refs)];
}
