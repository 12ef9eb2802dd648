/**
 * Weights on the chain: a validator's row, and its unrevealed commits.
 *
 * Owns: the shapes of both kinds of commit. Out of scope: creating them (chain/weights, chain/timelock).
 */

import * as v from "valibot";
import type { Address } from "../../call.ts";
import type { EpochState, PendingCommit } from "../../chain.ts";
import { epochIndex, firstBlockOfEpoch } from "../../epochs/epochs.ts";
import { storageIndex } from "../../weights/salted_commit.ts";
import { readEpochState } from "./parameters.ts";
import { address, bigInteger, hashSchema, hexSchema, integer } from "../connection/plain_values.ts";
import { type StateAt, type StoredItem, subtensorItem } from "../connection/state.ts";

export async function readWeights(
  state: StateAt,
  options: { netuid: number; mechanism: number; uid: number },
): Promise<{ uid: number; value: number }[]> {
  const row = subtensorItem("Weights", [storageIndex(options), options.uid], v.array(v.tuple([integer, integer])));
  const { weights } = await state.read({ weights: row });
  return (weights ?? []).map(([uid, value]) => ({ uid, value }));
}

/**
 * Salted commits. With fixed epoch dates: hash, block of the commit, first and last block in which it may be revealed.
 * With movable ones: hash, epoch, block of the commit, and a zero, which is not a last block.
 */
const saltedSchema = v.nullable(v.array(v.tuple([hashSchema, integer, integer, integer])));

/** Hotkey, block of the commit, ciphertext, drand round. */
const timelockedSchema = v.array(v.tuple([address, integer, hexSchema, bigInteger]));

/** The form of older runtimes, which do not store the commit's block. */
const blocklessSchema = v.array(v.tuple([address, hexSchema, bigInteger]));

/** The commits that can still become weights, oldest first. */
export async function readPendingCommits(
  state: StateAt,
  options: { netuid: number; mechanism: number; hotkey: Address },
): Promise<PendingCommit[]> {
  const index = storageIndex(options);
  const epochs = await readEpochState(state, options.netuid);
  const { salted, period = 1 } = await state.read({
    salted: subtensorItem("WeightCommits", [index, options.hotkey], saltedSchema),
    period: subtensorItem("RevealPeriodEpochs", [options.netuid], integer),
  });
  // A commit is stored under its epoch until `period` epochs later. One more on either side, because an epoch may be due now.
  const current = epochIndex(epochs);
  const batch: Record<string, StoredItem<readonly PendingCommit[]>> = {};
  for (let epoch = Math.max(0, current - period - 1); epoch <= current + 1; epoch++) {
    const firstBlock = epochs.formula === "legacy" ? firstBlockOfEpoch(epochs, epoch) ?? 0 : 0;
    for (const [name, schema] of Object.entries(timelockedEntries(options.hotkey, firstBlock))) {
      batch[`${name} ${epoch}`] = subtensorItem(name, [index, epoch], schema);
    }
  }
  const timelocked = Object.values(await state.read(batch)).flatMap((commits) => commits ?? []);
  return [...saltedCommits(salted ?? [], { epochs, period }), ...timelocked]
    .sort((a, b) => a.committedBlock - b.committedBlock);
}

function saltedCommits(
  stored: readonly (readonly [hash: string, first: number, second: number, third: number])[],
  { epochs, period }: { epochs: EpochState; period: number },
): PendingCommit[] {
  return stored.flatMap(([, first, second, third]) => {
    if (third > 0) {
      return third < epochs.block ? [] : [{ committedBlock: first, revealRound: null, revealFromBlock: second }];
    }
    const revealEpoch = first + period;
    if (revealEpoch < epochIndex(epochs)) return [];
    return [{ committedBlock: second, revealRound: null, revealFromBlock: firstBlockOfEpoch(epochs, revealEpoch) }];
  });
}

/** The storage entry has changed its name and shape twice; a runtime has one of them. */
function timelockedEntries(hotkey: Address, epochFirstBlock: number) {
  const withBlock = v.pipe(
    timelockedSchema,
    v.transform((all): readonly PendingCommit[] =>
      all.filter(([who]) => who === hotkey)
        .map(([, committedBlock, , revealRound]) => ({ committedBlock, revealRound, revealFromBlock: null }))
    ),
  );
  const blockless = v.pipe(
    blocklessSchema,
    v.transform((all): readonly PendingCommit[] =>
      all.filter(([who]) => who === hotkey)
        .map(([, , revealRound]) => ({ committedBlock: epochFirstBlock, revealRound, revealFromBlock: null }))
    ),
  );
  return { TimelockedWeightCommits: withBlock, CRV3WeightCommitsV2: withBlock, CRV3WeightCommits: blockless };
}
