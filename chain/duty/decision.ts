/** The decision after a read: what prevents a call, when the next is due, and the call itself. */

import { plural } from "../../core/plural.ts";
import type { EpochState, Metagraph, Neuron, Refusal, SubnetParameters } from "../chain.ts";
import { filedEpoch, nextEpochBlock, revealRound, stateAt } from "../epochs/epochs.ts";
import type { Attempt, ChainView, DutyEffect, DutyOptions, DutyState, Passage, Scores, Standing } from "./duty.ts";
import { hasOpenBlock } from "./forks.ts";
import { isPending } from "./open_commits.ts";
import { firstAllowedBlock, rowRefusal, standingRefusal } from "./preflight.ts";
import { leadBlocks, type SendWindow, sendWindow } from "./window.ts";
import { type Conformed, conformWeights } from "../weights/conform.ts";
import { blake2b } from "@noble/hashes/blake2.js";
import { assert, present } from "../../core/assert.ts";
import { concatBytes, scaleU64 } from "../scale.ts";
import { decodeAddress } from "../wallet/ss58.ts";
import { saltedCommitHash } from "../weights/salted_commit.ts";
import type { WeightsRow } from "../weights/stored_row.ts";

const idleLookBlocks = 10; // 2 min: an epoch may be requested at any time
const staleLookBlocks = 2;

export function decide(state: DutyState, view: ChainView, own: Neuron): DutyEffect[] {
  const headBlock = Math.max(state.headBlock, view.epoch.block);
  const epoch = stateAt(view.epoch, headBlock);
  const window = sendWindow(epoch, own.hotkey);
  state.lookAtBlock = headBlock + 1;
  if (window === null) {
    state.lookAtBlock = headBlock + idleLookBlocks;
    return stand(
      state,
      "waiting",
      "this subnet runs no epochs because its tempo is 0, so weights have no effect",
      null,
    );
  }
  if (state.attempt !== null) return stand(state, "waiting", "waiting to learn whether the last call landed", null);

  const seen = standingRefusal(view, own, state.options);
  // A hold is only for refusals that only the chain can know; others end visibly.
  const isHeld = state.hold !== null && window.landingBlock < state.hold.untilBlock &&
    seen?.name !== state.hold.refusal.name;
  if (!isHeld) state.hold = null;
  const refusal = state.hold?.refusal ?? seen;
  if (refusal !== null) {
    state.lookAtBlock = refusedLook(state, window);
    return standRefused(state, refusal, state.hold?.untilBlock ?? window.endBlock);
  }
  const isStale = headBlock - view.metagraph.block > staleLookBlocks;
  if (isStale) return [];
  const context: SendContext = { epoch, window, parameters: view.parameters, seenBlock: view.metagraph.block };
  const reveal = state.passages.find((passage) => isRevealDue(passage, { view, window }));
  if (reveal !== undefined) {
    stand(state, "good", "the salted weights are being revealed", null);
    return sendReveal(state, reveal, context);
  }
  const wait = waitOf(state, view, own, window);
  if (wait === null) return sendPlanned(state, view, own, context);
  state.lookAtBlock = Math.max(headBlock + 1, Math.min(idleLook(state, window), (wait.atBlock ?? Infinity) - 1));
  return stand(state, wait.level, wait.words, wait.atBlock);
}

/** The chain drops a commit whose epoch is over, after a tempo change for example, and refuses its reveal. */
function isRevealDue(passage: Passage, { view, window }: { view: ChainView; window: SendWindow }): boolean {
  const { mode, isRevealSent, revealEpoch, revealAfterBlock } = passage;
  return view.parameters.isCommitReveal && mode === "salted" && !isRevealSent && revealEpoch === window.epochIndex &&
    !(window.landingBlock <= revealAfterBlock) && isPending(passage, view);
}

function idleLook(state: DutyState, window: SendWindow): number {
  const headBlock = window.landingBlock - 1;
  const isRowDue = hasOpenBlock(state) ||
    state.passages.some(({ mode, isRevealSent }) => mode === "plain" || isRevealSent);
  return isRowDue ? headBlock + 1 : Math.max(headBlock + 1, Math.min(headBlock + idleLookBlocks, window.endBlock));
}

/** An obstacle may end at any block, so every block is read. */
function refusedLook(state: DutyState, window: SendWindow): number {
  const { landingBlock, startBlock } = window;
  return landingBlock >= startBlock ? landingBlock : Math.min(idleLook(state, window), startBlock - 1);
}

function waitOf(state: DutyState, view: ChainView, own: Neuron, window: SendWindow): Standing | null {
  const { parameters, epoch } = view;
  const lastUpdateBlock = Math.max(own.lastUpdateBlock, state.lastLandedBlock);
  // Registration and reveals write the same field but do not count as calls.
  const isReveal = own.lastUpdateBlock === state.revealedBlock;
  const lastCallBlock = isReveal ? state.lastLandedBlock : lastUpdateBlock;
  if (lastCallBlock > own.registeredAtBlock && lastCallBlock >= window.epochStartBlock) {
    const after = nextEpochBlock(stateAt(epoch, Math.max(epoch.block, window.endBlock)));
    const startBlock = after === null ? null : after - leadBlocks(parameters.tempoBlocks, own.hotkey);
    return { level: "good", words: "this epoch's weights have landed; the next land", atBlock: startBlock };
  }
  if (state.scores === null) {
    return { level: "waiting", words: "no scores yet: no miner's work has vested", atBlock: null };
  }
  const allowedBlock = firstAllowedBlock({ lastUpdateBlock, parameters });
  if (allowedBlock > window.landingBlock && allowedBlock > window.startBlock) {
    const words = `the subnet accepts weights every ${
      plural(parameters.weightsRateLimitBlocks, "block")
    }; the next land`;
    return { level: "waiting", words, atBlock: allowedBlock };
  }
  if (window.landingBlock < window.startBlock) {
    return { level: "good", words: "weights land", atBlock: window.startBlock };
  }
  return null;
}

function sendPlanned(state: DutyState, view: ChainView, own: Neuron, context: SendContext): DutyEffect[] {
  const { scores } = state;
  if (scores === null) return [];
  const planned = planRow({ scores, metagraph: view.metagraph, own, parameters: view.parameters });
  if (!planned.ok) return stand(state, "alarm", `the scores give no valid weights: ${planned.detail}`, null);
  const refusal = rowRefusal(view, own, planned.row);
  if (refusal !== null) return standRefused(state, refusal, context.window.endBlock);
  stand(state, "good", `weights for ${plural(planned.row.uids.length, "miner")} are being sent`, null);
  return sendRow(state, planned.row, context);
}

function stand(state: DutyState, level: Standing["level"], words: string, atBlock: number | null): DutyEffect[] {
  state.standing = { level, words, atBlock };
  return [];
}

function standRefused(state: DutyState, refusal: Refusal, epochBlock: number): DutyEffect[] {
  const level = refusal.retry === "afterUpgrade" || refusal.retry === "never" ? "alarm" : "waiting";
  const atBlock = refusal.retry === "afterEpoch" ? epochBlock : null;
  return stand(state, level, `${refusal.sentence}: ${refusal.action}${atBlock === null ? "" : "; epoch"}`, atBlock);
}

/** Drops hotkeys that left or registered again after their score. */
export function planRow(options: {
  readonly scores: Scores;
  readonly metagraph: Metagraph;
  readonly own: Neuron;
  readonly parameters: SubnetParameters;
}): Conformed {
  const { scores, metagraph, own, parameters } = options;
  const scored = metagraph.neurons.flatMap(({ uid, hotkey, registeredAtBlock }) => {
    const score = Object.hasOwn(scores.byHotkey, hotkey) ? scores.byHotkey[hotkey]! : 0;
    const isDropped = score === 0 || registeredAtBlock > scores.block;
    return isDropped ? [] : [{ uid, score }];
  });
  const { minAllowedWeights, maxWeightsLimit } = parameters;
  return conformWeights(scored, { ownUid: own.uid, minAllowedWeights, maxWeightsLimit });
}

const timelockedVersion = 4; // from here on the chain reveals by itself

interface SendContext {
  readonly epoch: EpochState;
  readonly window: SendWindow;
  readonly parameters: SubnetParameters;
  readonly seenBlock: number;
}

function sendRow(state: DutyState, row: WeightsRow, context: SendContext): DutyEffect[] {
  const { parameters, window } = context;
  const { netuid, mechanism, versionKey } = state.options;
  const passage = passageOf(state, row, context);
  const attempt = open(state, "set", passage, context);
  const versioned = BigInt(versionKey);
  if (passage.mode === "plain") {
    return send(attempt, { type: "setWeights", netuid, mechanism, ...row, versionKey: versioned });
  }
  if (passage.mode === "salted") {
    const publicKey = present(decodeAddress(state.options.hotkey), "Our own hotkey must be an address");
    const hash = saltedCommitHash({ publicKey, netuid, mechanism, row, salt: passage.salt, versionKey: versioned });
    return send(attempt, { type: "commitWeights", netuid, mechanism, hash });
  }
  const { revealPeriodEpochs, blockMs, commitRevealVersion } = parameters;
  const { beacon } = state.options;
  const sealed = revealRound({
    ...{ state: context.epoch, revealPeriodEpochs, blockMs, beacon },
    headSeenMs: state.headSeenMs + (context.epoch.block - state.headBlock) * blockMs,
  });
  assert(sealed.ok, `A window that ends at block ${window.endBlock} must have a reveal round`);
  const round = String(sealed.value.round);
  return [
    { type: "sealAndSend", attempt: attempt.id, row, versionKey, revealRound: round, commitRevealVersion },
    sentRecord(attempt),
  ];
}

function sendReveal(state: DutyState, passage: Passage, context: SendContext): DutyEffect[] {
  const { netuid, mechanism } = state.options;
  const { row, salt, versionKey } = passage;
  const attempt = open(state, "reveal", passage, context);
  return send(attempt, {
    ...{ type: "revealWeights", netuid, mechanism, ...row },
    ...{ salt, versionKey: BigInt(versionKey) },
  });
}

function passageOf(state: DutyState, row: WeightsRow, { parameters, window, epoch }: SendContext): Passage {
  const mode = !parameters.isCommitReveal
    ? "plain"
    : parameters.commitRevealVersion >= timelockedVersion
    ? "timelocked"
    : "salted";
  const landing = stateAt(epoch, window.landingBlock);
  const revealEpoch = mode === "plain" ? window.epochIndex : filedEpoch(landing, mode) + parameters.revealPeriodEpochs;
  return {
    ...{ mode, row, versionKey: state.options.versionKey },
    scoresRound: present(state.scores, "A row must come from scores").round,
    salt: mode === "salted" ? saltOf(state.options, window.landingBlock) : [],
    // A salted commit in the legacy rule's epoch block belongs to the old epoch.
    nextFiledBlock: window.endBlock + (epoch.formula === "legacy" && mode === "salted" ? 1 : 0),
    landedBlock: 0,
    revealEpoch,
    isRevealSent: false,
    revealedBlock: 0,
    revealAfterBlock: 0,
  };
}

function saltOf({ saltSeed }: DutyOptions, block: number): number[] {
  const digest = blake2b(concatBytes(Uint8Array.fromHex(saltSeed), scaleU64(BigInt(block))), { dkLen: 32 });
  return Array.from({ length: 16 }, (_, i) => digest[2 * i]! | (digest[2 * i + 1]! << 8));
}

function open(state: DutyState, purpose: Attempt["purpose"], passage: Passage, context: SendContext): Attempt {
  assert(state.attempt === null, "A call must not be sent while another is under way");
  const { window, seenBlock } = context;
  state.attempts += 1;
  state.attempt = {
    ...{ id: state.attempts, purpose, passage, seenBlock, headBlock: state.headBlock },
    ...{ epochEndBlock: window.endBlock, isUnknown: false, searchedBlock: state.headBlock },
  };
  return state.attempt;
}

const send = (attempt: Attempt, call: Extract<DutyEffect, { type: "send" }>["call"]): DutyEffect[] => [
  { type: "send", attempt: attempt.id, call },
  sentRecord(attempt),
];

const sentRecord = ({ purpose, passage }: Attempt): DutyEffect => ({
  type: "record",
  record: { type: "sent", purpose, mode: passage.mode, weights: passage.row.uids.length },
});
