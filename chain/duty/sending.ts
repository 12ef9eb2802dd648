/** Turns a decision to send into an attempt and its effect: the call for the subnet's current mode. */

import { blake2b } from "@noble/hashes/blake2.js";
import { assert, present } from "../../core/assert.ts";
import { concatBytes, scaleU64 } from "../scale.ts";
import type { EpochState, SubnetParameters } from "../chain.ts";
import { filedEpoch, revealRound, stateAt } from "../epochs/epochs.ts";
import { decodeAddress } from "../wallet/ss58.ts";
import { saltedCommitHash } from "../weights/salted_commit.ts";
import type { WeightsRow } from "../weights/stored_row.ts";
import type { Attempt, DutyEffect, DutyOptions, DutyState, Passage } from "./duty.ts";
import type { SendWindow } from "./window.ts";

const timelockedVersion = 4; // of commit-reveal; from this on the chain reveals by itself

export interface SendContext {
  readonly epoch: EpochState; // at the head
  readonly window: SendWindow;
  readonly parameters: SubnetParameters;
  readonly seenBlock: number;
}

export function sendRow(state: DutyState, row: WeightsRow, context: SendContext): DutyEffect[] {
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

/** The reveal of a salted commit. */
export function sendReveal(state: DutyState, passage: Passage, context: SendContext): DutyEffect[] {
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
    // A salted commit in the legacy rule's epoch block still belongs to the old epoch.
    nextFiledBlock: window.endBlock + (epoch.formula === "legacy" && mode === "salted" ? 1 : 0),
    landedBlock: 0,
    revealEpoch,
    isRevealSent: false,
    revealedBlock: 0,
    revealAfterBlock: 0,
  };
}

/** Sixteen u16 that no one can guess and that we can derive again. */
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
