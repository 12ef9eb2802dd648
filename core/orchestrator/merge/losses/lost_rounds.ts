/**
 * A round in which a stage has no payload, or no usable merged parameters, did not happen: the run rolls back to its
 * first step. Otherwise its steps would count as trained although that stage keeps its parameters.
 *
 * First the orchestrator probes its own public address, so that the record can say whether its side refuses uploads.
 * Rounds lost in a row halt the run: the next attempt follows after a pause that doubles, once such uploads are
 * accepted, or on the owner's command. A merge that all miners left before any payload came is repeated as soon as some
 * are back.
 */

import { closesAtMs } from "../../closing.ts";
import { type OrchestratorEffect, record } from "../../event.ts";
import type { OrchestratorState } from "../../state.ts";
import { usedBlobs } from "../../stored_blobs.ts";
import { bytesOf, isProbed, judgeFailedUploads, probeUploads, refusalOf } from "./failed_uploads.ts";
import { lostOf, type LostStage, lostStages } from "./lost_stages.ts";
import type { StageMerge, StageUpload } from "../merge_state.ts";
import { beginAnew, retaken } from "../retake.ts";

const lossesBeforeHalt = 2; // the first may be an accident
const firstHaltMs = 60_000; // time to reload a proxy's configuration
const longestHaltMs = 3_600_000; // an unattended run tries at most once an hour
const probeAgainMs = 60_000;

export function repeatLostRound(state: OrchestratorState, nowMs: number): OrchestratorEffect[] {
  const probing = judgeFailedUploads(state);
  if (isDeserted(state)) {
    const { step } = state;
    const { effects, tokens, step: toStep } = beginAnew(state);
    return [...probing, ...effects, record({ type: "rewound", step, toStep, tokens })];
  }
  const merged = lostOf(uploadsAtLast(state, nowMs));
  if (merged.length > 0) {
    return [...probing, ...repeatRound(state, { because: "parametersLost", stages: merged, nowMs })];
  }
  const stages = lostStages(state);
  if (stages.length === 0) return probing;
  const payloadBytes = bytesOf(state, "committing");
  if (!isProbed(state, payloadBytes)) return [...probing, ...probeUploads(state, payloadBytes)];
  return repeatRound(state, { because: "payloadMissing", stages, nowMs });
}

/** What is not stored when the run ends is lost. */
function uploadsAtLast(state: OrchestratorState, nowMs: number): readonly StageUpload[] {
  const stages = state.upload?.stages ?? [];
  if (state.phase !== "closing" || nowMs < closesAtMs(state)) return stages;
  for (const stage of stages) if (!stage.stored) stage.lostBecause ??= "its merged parameters were not stored in time";
  return stages;
}

interface Loss {
  readonly because: keyof typeof lacking;
  readonly stages: readonly LostStage[];
  readonly nowMs: number;
}

const lacking = { payloadMissing: "payload", parametersLost: "parameters" };

function repeatRound(state: OrchestratorState, loss: Loss): OrchestratorEffect[] {
  const { losses } = state;
  const refusal = refusalOf(state, bytesOf(state, loss.because === "payloadMissing" ? "committing" : "uploading"));
  const { effects, tokens } = beginAnew(state);
  losses.inARow += 1;
  state.counters.roundsLost += 1;
  const stages = loss.stages.map((each) => withRefusal(each, refusal));
  const told = retaken(state, { because: loss.because, tokens, stages });
  const swept = { type: "sweepBlobs", used: usedBlobs(state) } as const; // a full store may be why no payload came
  return [...effects, swept, told, ...(losses.inARow < lossesBeforeHalt ? [] : [halt(state, { ...loss, refusal })])];
}

const isDeserted = ({ merge }: OrchestratorState): boolean =>
  merge !== null && merge.stages.every(isLeft) && merge.stages.some(({ replicas }) => replicas > 0);

/** A miner that fails in the merge is not gone, and would fail again. */
const isLeft = ({ participants, payloads, checking, failures }: StageMerge): boolean =>
  failures.size + participants.size + payloads.size + checking.size === 0;

const withRefusal = ({ stage, reason }: LostStage, refusal: string | null): LostStage => ({
  stage,
  reason: refusal === null ? reason : `${reason}; ${refusal}`,
});

function halt(
  state: OrchestratorState,
  { because, stages, nowMs, refusal }: Loss & { refusal: string | null },
): OrchestratorEffect {
  const { losses } = state;
  const { inARow } = losses;
  const retryMs = Math.min(longestHaltMs, firstHaltMs * 2 ** (inARow - lossesBeforeHalt));
  const missing = stages.map(({ stage, reason }) => `stage ${stage} has no ${lacking[because]} (${reason})`).join(", ");
  const earlier = refusal === null ? "" : "when an upload to that address succeeds, or ";
  const next = `the next attempt follows in ${
    Math.round(retryMs / 60_000)
  } min, or earlier ${earlier}after iota admin resume`;
  const causes = refusal === null ? missing : `${missing}; ${refusal}`;
  const text = `The last ${inARow} rounds were lost: ${causes}; ${next}`;
  losses.halt = {
    sinceMs: nowMs,
    untilMs: nowMs + retryMs,
    probeAtMs: refusal === null ? null : nowMs + probeAgainMs,
    text,
  };
  return record({ type: "trainingHalted", text, retryMs });
}

export function haltDueMs({ losses: { halt, probe } }: OrchestratorState): number | null {
  if (halt === null) return null;
  return Math.min(halt.untilMs, probe.status === "asked" ? Infinity : halt.probeAtMs ?? Infinity);
}

export function continueHalted(state: OrchestratorState, nowMs: number): OrchestratorEffect[] {
  const { halt, probe } = state.losses;
  if (halt === null) return [];
  if (nowMs >= halt.untilMs) return endHalt(state, nowMs);
  return halt.probeAtMs !== null && nowMs >= halt.probeAtMs ? probeUploads(state, probe.bytes) : [];
}

export function onUploadsProbed(
  state: OrchestratorState,
  { refusal, nowMs }: { refusal: string | null; nowMs: number },
): OrchestratorEffect[] {
  const { halt, probe } = state.losses;
  if (probe.status !== "asked") return [];
  probe.status = "answered";
  probe.refusal = refusal;
  if (halt === null || halt.probeAtMs === null) return [];
  halt.probeAtMs = nowMs + probeAgainMs;
  if (refusal === null) halt.untilMs = nowMs;
  return [];
}

export function resumeHalt({ losses: { halt } }: OrchestratorState, nowMs: number): OrchestratorEffect[] {
  if (halt === null) return [];
  return [record({ type: "trainingHalted", text: halt.text, retryMs: Math.max(0, halt.untilMs - nowMs) })];
}

export function endHalt(state: OrchestratorState, nowMs: number): OrchestratorEffect[] {
  const { halt } = state.losses;
  if (halt === null) return [];
  state.losses.halt = null;
  return [record({ type: "trainingRetried", haltedMs: nowMs - halt.sinceMs })];
}
