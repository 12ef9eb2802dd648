/** The weight duty's status for its operator. */

import type { DutyState, Standing } from "./duty.ts";

export interface DutyHealth {
  readonly level: Standing["level"];
  readonly sentences: readonly string[]; // most important first
}

export function dutyHealth(state: DutyState): DutyHealth {
  const alarms = alarmsOf(state);
  const level = alarms.length > 0 ? "alarm" : state.standing.level;
  return { level, sentences: [...alarms, nextOf(state), ...lastOf(state)] };
}

function alarmsOf(state: DutyState): string[] {
  const alarms: string[] = [];
  if (state.isSilent) alarms.push(`no new block since block ${state.headBlock}: the chain or its endpoint is silent`);
  if (state.readFailure !== null) alarms.push(`the chain could not be read: ${state.readFailure}`);
  if (state.alarm !== null) alarms.push(state.alarm);
  return alarms;
}

function nextOf(state: DutyState): string {
  const { attempt, standing, headBlock, blockMs } = state;
  if (attempt !== null) {
    const what = attempt.purpose === "set" ? "weights" : "the reveal of weights";
    return attempt.isUnknown
      ? `no answer to ${what} sent at block ${attempt.headBlock}: checking on the chain whether it landed`
      : `${what} sent at block ${attempt.headBlock}, waiting for the chain's answer`;
  }
  if (standing.atBlock === null) return standing.words;
  const blocks = Math.max(0, standing.atBlock - headBlock);
  return `${standing.words} in ${blocks} ${blocks === 1 ? "block" : "blocks"} (${duration(blocks * blockMs)})`;
}

function lastOf(state: DutyState): string[] {
  const newest = state.passages.at(-1);
  const checked = state.checked === null
    ? []
    : [`last weights in force: set at block ${state.checked.landedBlock}, row checked`];
  if (newest === undefined) return checked;
  const progress = newest.mode === "plain"
    ? `set at block ${newest.landedBlock}, ${
      newest.landedBlock > state.finalizedBlock ? "which a fork can still undo" : "row not yet checked"
    }`
    : `committed at block ${newest.landedBlock}, revealed in epoch ${newest.revealEpoch}`;
  return [`newest weights: ${progress}`, ...checked];
}

function duration(ms: number): string {
  const seconds = Math.round(ms / 1_000);
  if (seconds < 100) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 100 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
