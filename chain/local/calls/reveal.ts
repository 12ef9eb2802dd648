/**
 * Opens the timelocked weights of `revealPeriodEpochs` ago and sets them as if just sent. Commits without a published
 * pulse are tried until the epoch ends; those that do not open, are not from their sender or are refused are dropped.
 */

import { decryptTimelocked } from "../../timelock/timelock.ts";
import { decodeWeightsPayload } from "../../timelock/weights_payload.ts";
import type { Parsed } from "../../../core/fault.ts";
import { storageIndex } from "../../weights/salted_commit.ts";
import type { BlockScope } from "../state/state.ts";
import { storeWeights } from "./weights.ts";
import { addressOf, keyOf, type TimelockedCommit } from "../state/records.ts";
import { epochIndexIn } from "../epoch/schedule.ts";

export function revealDue(scope: BlockScope, netuid: number): void {
  const { state } = scope;
  const { revealPeriodEpochs, mechanisms } = state.get("subnet", keyOf(netuid)).hyperparameters;
  const dueEpoch = epochIndexIn(scope, netuid) - revealPeriodEpochs;
  for (let mechanism = 0; mechanism < mechanisms; mechanism++) {
    const index = storageIndex({ netuid, mechanism });
    for (const key of state.keys("timelocked", keyOf(index, ""))) {
      const epoch = Number(key.slice(key.indexOf("/") + 1));
      if (epoch < dueEpoch) dropExpired(scope, { netuid, mechanism, key });
      if (epoch === dueEpoch) revealAll(scope, { netuid, mechanism, key });
    }
  }
}

interface Place {
  readonly netuid: number;
  readonly mechanism: number;
  readonly key: string;
}

function dropExpired(scope: BlockScope, { netuid, mechanism, key }: Place): void {
  for (const { hotkey } of scope.state.get("timelocked", key)) {
    const why = "its pulse was not published in time";
    scope.emit({ type: "weightsDropped", netuid, mechanism, hotkey: addressOf(hotkey), why });
  }
  scope.state.remove("timelocked", key);
}

function revealAll(scope: BlockScope, { netuid, mechanism, key }: Place): void {
  const { state } = scope;
  const waiting: TimelockedCommit[] = [];
  const commits = state.get("timelocked", key);
  state.remove("timelocked", key); // first: they are no longer outstanding
  for (const commit of commits) {
    const opened = openCommit(scope, commit);
    if (opened === null) {
      waiting.push(commit);
      continue;
    }
    const why = revealOne(scope, { netuid, mechanism, commit, opened });
    const hotkey = addressOf(commit.hotkey);
    if (why === null) scope.emit({ type: "weightsRevealed", netuid, mechanism, hotkey });
    else scope.emit({ type: "weightsDropped", netuid, mechanism, hotkey, why });
  }
  if (waiting.length > 0) state.write("timelocked", key, waiting);
}

/** Null: no pulse yet. */
function openCommit(scope: BlockScope, { commit, round }: TimelockedCommit): Parsed<Uint8Array> | null {
  const ciphertext = Uint8Array.fromHex(commit);
  const [first, ...others] = scope.pulses(round).map((signature) => decryptTimelocked({ ciphertext, signature }));
  if (first === undefined) return null;
  const opened = [first, ...others].find(({ ok }) => ok);
  if (opened !== undefined) return opened;
  const isSealed = !first.ok && first.fault.code === "unauthenticated"; // probably for another beacon
  return isSealed && scope.awaitsPulse(round) ? null : first;
}

/** Null: the weights are set. */
function revealOne(scope: BlockScope, of: {
  readonly netuid: number;
  readonly mechanism: number;
  readonly commit: TimelockedCommit;
  readonly opened: Parsed<Uint8Array>;
}): string | null {
  const { netuid, mechanism, commit, opened } = of;
  if (!opened.ok) return opened.fault.detail;
  const decoded = decodeWeightsPayload(opened.value);
  if (!decoded.ok) return decoded.fault.detail;
  const { hotkey, uids, values, versionKey } = decoded.value;
  if (hotkey !== null && hotkey.toHex() !== commit.hotkey) return "the payload names another hotkey";
  return scope.state.attempt(() => storeWeights(scope, commit.hotkey, { netuid, mechanism, uids, values, versionKey }));
}
