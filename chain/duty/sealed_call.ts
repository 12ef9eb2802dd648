/** Imports the pairing curve, so load it lazily. */

import type { ChainCall } from "../call.ts";
import type { Beacon } from "../timelock/beacon.ts";
import { encryptTimelocked } from "../timelock/timelock.ts";
import { encodeWeightsPayload } from "../timelock/weights_payload.ts";
import type { DutyEffect } from "./duty.ts";

export function sealedCall(effect: Extract<DutyEffect, { type: "sealAndSend" }>, options: {
  readonly netuid: number;
  readonly mechanism: number;
  readonly publicKey: Uint8Array; // the hotkey's
  readonly beacon: Beacon;
  readonly random: Uint8Array; // `timelockRandomBytes` bytes
}): ChainCall {
  const { netuid, mechanism, publicKey, beacon, random } = options;
  const { row, versionKey, revealRound, commitRevealVersion } = effect;
  const plaintext = encodeWeightsPayload({ hotkey: publicKey, ...row, versionKey: BigInt(versionKey) });
  const round = BigInt(revealRound);
  const commit = encryptTimelocked({ plaintext, round, beacon, random });
  return { type: "commitTimelockedWeights", netuid, mechanism, commit, revealRound: round, commitRevealVersion };
}
