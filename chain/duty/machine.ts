/**
 * The weight duty: a validator's weights on the chain, once per epoch, through restarts and outages. Each read settles,
 * checks and decides. At most one call is under way; an unanswered one is settled from the chain before the next.
 */

import { assert, unreachable } from "../../core/assert.ts";
import type { Machine } from "../../core/protocol/machine.ts";
import type { Head, Receipt, Refusal } from "../chain.ts";
import { decide } from "./decision.ts";
import type { Attempt, ChainView, DutyEffect, DutyEvent, DutyRecord, DutyState } from "./duty.ts";
import { seenByReads } from "./preflight.ts";
import { followMoved, forgetTakenBack, hasOpenBlock } from "./forks.ts";
import { blocksToSearch, checkPassages, forgetOldRegistration, land, noteReveal, settleAttempt } from "./settle.ts";

const silenceMs = 90_000; // seven blocks
const silenceBlocks = 7;
const revealRetryBlocks = 3;
const seenHoldBlocks = 4;

export const weightDuty: Machine<DutyState, DutyEvent, DutyEffect> = {
  step(state, event, nowMs) {
    switch (event.type) {
      case "headSeen":
        return onHead(state, event.head, nowMs);
      case "viewRead":
        return onView(state, event.view);
      case "readFailed":
        state.isReading = false;
        state.readFailure = event.why;
        state.lookAtBlock = state.headBlock + 1;
        return [];
      case "scored":
        if (state.scores !== null && event.scores.round < state.scores.round) return [];
        state.scores = event.scores;
        state.lookAtBlock = Math.min(state.lookAtBlock, state.headBlock + 1);
        return [];
      case "answered":
        return onReceipt(state, event);
      case "restarted":
        return onRestart(state, nowMs);
      case "tick":
        if (nowMs >= silentAtMs(state)) state.isSilent = true;
        return [];
      default:
        return unreachable(event);
    }
  },
  nextDeadlineMs: (state) => state.headBlock === 0 || state.isSilent ? null : silentAtMs(state),
  assertInvariants(state) {
    const blocks = state.passages.map(({ landedBlock }) => landedBlock);
    assert(blocks.every((block, i) => block > (blocks[i - 1] ?? 0)), "Passages must have landed one after the other");
    assert(
      blocks.every((block) => block <= state.lastLandedBlock),
      "The last landed block must not be behind a passage",
    );
    assert(state.attempt === null || state.attempt.id === state.attempts, "An open attempt must be the newest");
  },
};

/** Whether the newest row is in a final block and no reveal of ours is open. */
export function isSettled(state: DutyState): boolean {
  const { scores, landedScoresRound, attempt, passages } = state;
  if (attempt !== null || hasOpenBlock(state)) return false;
  if (scores !== null && landedScoresRound < scores.round) return false;
  return passages.every(({ mode, isRevealSent }) => mode === "timelocked" || isRevealSent);
}

const silentAtMs = (state: DutyState): number => state.headAtMs + Math.max(silenceMs, silenceBlocks * state.blockMs);
const record = (value: DutyRecord): DutyEffect => ({ type: "record", record: value });

function onHead(state: DutyState, head: Head, nowMs: number): DutyEffect[] {
  state.headAtMs = nowMs;
  state.isSilent = false;
  if (head.block < state.headBlock) return []; // a lagging endpoint
  state.headBlock = head.block;
  state.headSeenMs = head.seenMs;
  return lookWhenDue(state);
}

function lookWhenDue(state: DutyState): DutyEffect[] {
  const isWaiting = state.attempt !== null && !state.attempt.isUnknown;
  if (state.isReading || isWaiting || state.headBlock < state.lookAtBlock) return [];
  state.isReading = true;
  return [{ type: "read", blocks: null }];
}

function onView(state: DutyState, view: ChainView): DutyEffect[] {
  state.isReading = false;
  if (view.metagraph.block < state.viewBlock) {
    state.readFailure = `the endpoint lags: it answers with block ${view.metagraph.block} after ${state.viewBlock}`;
    state.lookAtBlock = state.headBlock + 1;
    return [];
  }
  state.readFailure = null;
  state.viewBlock = view.metagraph.block;
  state.finalizedBlock = Math.max(state.finalizedBlock, view.finalizedBlock);
  state.blockMs = view.parameters.blockMs;
  state.tempoBlocks = view.epoch.tempoBlocks;
  const own = view.metagraph.neurons.find(({ hotkey }) => hotkey === state.options.hotkey);
  if (own === undefined) {
    state.standing = {
      level: "alarm",
      words: `this hotkey is not registered on subnet ${state.options.netuid}; register it: \`iota chain register\``,
      atBlock: null,
    };
    state.lookAtBlock = state.headBlock + 1;
    return [];
  }
  forgetOldRegistration(state, own);
  const blocks = view.calls === null ? blocksToSearch(state, view, own) : null;
  if (blocks !== null) {
    state.isReading = true;
    return [{ type: "read", blocks }];
  }
  followMoved(state, view, own);
  const settled = [...forgetTakenBack(state, view, own), ...settleAttempt(state, view, own)];
  noteReveal(state, view, own);
  const records = [...settled, ...checkPassages(state, view, own)];
  return [...records.map(record), ...decide(state, view, own)];
}

function onReceipt(state: DutyState, event: { attempt: number; receipt: Receipt }): DutyEffect[] {
  const { attempt } = state;
  const { receipt } = event;
  if (attempt === null || attempt.id !== event.attempt) return []; // already settled
  state.lookAtBlock = state.headBlock + 1;
  switch (receipt.status) {
    case "included":
      return [record(land(state, attempt, receipt.block))];
    case "unknown":
      attempt.isUnknown = true;
      return [record({ type: "unanswered", why: receipt.why })];
    case "refused": {
      const { refusal } = receipt;
      state.attempt = null;
      if (attempt.purpose === "reveal") postponeReveal(state, attempt);
      const isSoon = refusal.retry === "nextBlock" || refusal.retry === "afterRateLimit";
      if (!isSoon) state.hold = { untilBlock: heldUntil(state, attempt, refusal), refusal };
      return [record({ type: "refused", refusal })];
    }
    default:
      return unreachable(receipt);
  }
}

/** A refusal that reads can show may last a block, or some if an endpoint lags; others last until the next epoch. */
function heldUntil({ headBlock }: DutyState, { epochEndBlock }: Attempt, { name }: Refusal): number {
  return seenByReads.has(name) ? Math.min(epochEndBlock, headBlock + seenHoldBlocks) : epochEndBlock;
}

/** The chain may count epochs differently, after a tempo change for example; the next row must not wait. */
function postponeReveal(state: DutyState, { passage }: Attempt): void {
  const refused = state.passages.find(({ landedBlock }) => landedBlock === passage.landedBlock);
  if (refused !== undefined) refused.revealAfterBlock = state.headBlock + revealRetryBlocks;
}

function onRestart(state: DutyState, nowMs: number): DutyEffect[] {
  state.isReading = false;
  state.isSilent = false;
  state.headAtMs = nowMs;
  state.lookAtBlock = 0;
  if (state.attempt === null || state.attempt.isUnknown) return [];
  state.attempt.isUnknown = true;
  return [record({ type: "unanswered", why: "the program was restarted while the call was under way" })];
}
