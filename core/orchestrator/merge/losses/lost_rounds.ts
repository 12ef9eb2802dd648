/**
 * A round of which a stage has no payload did not happen: the run goes back to its first step and repeats it. The same holds if
 * a stage of a merged round turns out to have no usable parameters before they are stored.
 *
 * Its steps would otherwise count as trained while that stage keeps its parameters, round after round. Before a merge is given up,
 * the orchestrator tries an upload to its own public address, so that the record can say whether its side refuses them. Rounds lost
 * in a row halt the run: it is repeated after a while that doubles, or when that address takes uploads again, or when the owner
 * says so. A merge that all miners have left before any delivered a payload (a power cut) is repeated as soon as some are back.
 */

import { closesAtMs } from "../../closing.ts";
import { type OrchestratorEffect, record } from "../../event.ts";
import type { OrchestratorState } from "../../state.ts";
import { usedBlobs } from "../../stored_blobs.ts";
import { forgetProbe, judgeFailedUploads, probeUploads } from "./failed_uploads.ts";
import { lostOf, type LostStage, lostStages } from "./lost_stages.ts";
import type { StageMerge, StageUpload } from "../merge_state.ts";
import { beginAnew } from "../retake.ts";

const lossesBeforeHalt = 2; // the first may be an accident
const firstHaltMs = 60_000; // time to reload a proxy's configuration
const longestHaltMs = 3_600_000; // an unattended run tries a round at most once an hour
const probeAgainMs = 60_000;

export function repeatLostRound(state: OrchestratorState, nowMs: number): OrchestratorEffect[] {
  judgeFailedUploads(state);
  if (isDeserted(state)) {
    const { step } = state;
    const { effects, tokens, step: toStep } = beginAnew(state);
    return [...effects, record({ type: "rewound", step, toStep, tokens })];
  }
  const merged = lostOf(uploadsAtLast(state, nowMs));
  if (merged.length > 0) return repeatRound(state, { because: "parametersLost", stages: merged, nowMs });
  const stages = lostStages(state);
  if (stages.length === 0) return [];
  const { losses } = state;
  if (losses.probe.status !== "answered") return probeUploads(state);
  return repeatRound(state, { because: "payloadMissing", stages, nowMs });
}

/** Those of the last round are waited for until the run would end: what is not stored by then is lost. */
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
  const { effects, tokens, step } = beginAnew(state);
  losses.inARow += 1;
  state.counters.roundsLost += 1;
  const stages = loss.stages.map((each) => withRefusal(each, losses.probe.refusal));
  const { because } = loss;
  const told = record({ type: "mergeRetaken", because, round: state.round, step, tokens, suspects: [], stages });
  const swept = { type: "sweepBlobs", used: usedBlobs(state) } as const; // a full store may be why no payload came
  return [...effects, swept, told, ...(losses.inARow < lossesBeforeHalt ? [] : [halt(state, loss)])];
}

/** No miner that trained in the round is left, and none has delivered its payload. */
const isDeserted = ({ merge }: OrchestratorState): boolean =>
  merge !== null && merge.stages.every(isLeft) && merge.stages.some(({ replicas }) => replicas > 0);

/** One that fails in the merge is not gone, and would fail again. */
const isLeft = ({ participants, payloads, checking, failures }: StageMerge): boolean =>
  failures.size + participants.size + payloads.size + checking.size === 0;

const withRefusal = ({ stage, reason }: LostStage, refusal: string | null): LostStage => ({
  stage,
  reason: refusal === null ? reason : `${reason}; ${refusal}`,
});

// ------------------------------------------------------------------------------------------------------------- halts

function halt(state: OrchestratorState, { because, stages, nowMs }: Loss): OrchestratorEffect {
  const { losses } = state;
  const { inARow, probe: { refusal } } = losses;
  const retryMs = Math.min(longestHaltMs, firstHaltMs * 2 ** (inARow - lossesBeforeHalt));
  const missing = stages.map(({ stage, reason }) => `stage ${stage} has no ${lacking[because]} (${reason})`).join(", ");
  const next = refusal === null
    ? `the next attempt follows in ${Math.round(retryMs / 60_000)} min`
    : `${refusal}; the run goes on when an upload to that address succeeds`;
  const text = `The last ${inARow} rounds were lost: ${missing}; ${next}, or after iota admin resume`;
  losses.halt = { sinceMs: nowMs, untilMs: nowMs + retryMs, text };
  return record({ type: "trainingHalted", text, retryMs });
}

/** While the answer of a probe is awaited nothing is due. */
export const haltDueMs = ({ losses: { halt, probe } }: OrchestratorState): number | null =>
  halt === null || probe.status === "asked" ? null : halt.untilMs;

export function continueHalted(state: OrchestratorState, nowMs: number): OrchestratorEffect[] {
  const dueMs = haltDueMs(state);
  if (dueMs === null || nowMs < dueMs) return [];
  if (state.losses.probe.refusal === null) return endHalt(state, nowMs);
  forgetProbe(state);
  return probeUploads(state);
}

export function onUploadsProbed(
  state: OrchestratorState,
  { refusal, nowMs }: { refusal: string | null; nowMs: number },
): OrchestratorEffect[] {
  const { halt, probe } = state.losses;
  if (probe.status !== "asked") return [];
  probe.status = "answered";
  probe.refusal = refusal;
  if (halt !== null) halt.untilMs = refusal === null ? nowMs : nowMs + probeAgainMs;
  return [];
}

/** A restarted orchestrator is halted still. */
export function resumeHalt({ losses: { halt } }: OrchestratorState, nowMs: number): OrchestratorEffect[] {
  if (halt === null) return [];
  return [record({ type: "trainingHalted", text: halt.text, retryMs: Math.max(0, halt.untilMs - nowMs) })];
}

/** The round is repeated now. */
export function endHalt(state: OrchestratorState, nowMs: number): OrchestratorEffect[] {
  const { halt } = state.losses;
  if (halt === null) return [];
  state.losses.halt = null;
  return [record({ type: "trainingRetried", haltedMs: nowMs - halt.sinceMs })];
}
