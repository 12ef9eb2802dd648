/**
 * A round of which a stage has no payload did not happen: the run goes back to its first step and repeats it.
 *
 * Its steps would otherwise count as trained while that stage keeps its parameters, round after round. Before it goes back, the
 * orchestrator tries an upload to its own public address, so that the record can say whether its side refuses them. Rounds lost
 * in a row halt the run: it is repeated after a while that doubles, or when that address takes uploads again, or when the owner
 * says so. A merge that all miners have left before any delivered a payload (a power cut) is repeated as soon as some are back.
 */

import { type OrchestratorEffect, record } from "../../event.ts";
import type { OrchestratorState } from "../../state.ts";
import { forgetProbe, judgeFailedUploads, probeUploads } from "./failed_uploads.ts";
import { type LostStage, lostStages } from "./lost_stages.ts";
import type { StageMerge } from "../merge_state.ts";
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
  const stages = lostStages(state);
  if (stages.length === 0) return [];
  const { losses } = state;
  if (losses.probe.status !== "answered") return probeUploads(state);
  const { refusal } = losses.probe;
  const { effects, tokens, step } = beginAnew(state);
  losses.inARow += 1;
  state.counters.roundsLost += 1;
  const lost = { type: "mergeRetaken", because: "payloadMissing", round: state.round, step, tokens } as const;
  const told = [
    ...effects,
    record({ ...lost, suspects: [], stages: stages.map((each) => withRefusal(each, refusal)) }),
  ];
  return losses.inARow < lossesBeforeHalt ? told : [...told, halt(state, { stages, nowMs })];
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

function halt(
  state: OrchestratorState,
  { stages, nowMs }: { stages: readonly LostStage[]; nowMs: number },
): OrchestratorEffect {
  const { losses } = state;
  const { inARow, probe: { refusal } } = losses;
  const retryMs = Math.min(longestHaltMs, firstHaltMs * 2 ** (inARow - lossesBeforeHalt));
  const missing = stages.map(({ stage, reason }) => `stage ${stage} has no payload (${reason})`).join(", ");
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
