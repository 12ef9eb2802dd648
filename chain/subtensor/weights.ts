/**
 * Weights on the chain: a validator's row, and what it has committed but not shown.
 *
 * Owns: the shapes of both kinds of commit. Refuses: making either (chain/weights,
 * chain/timelock).
 */

import * as v from "valibot";
import type { Address } from "../call.ts";
import type { PendingCommit } from "../chain.ts";
import { storageIndex } from "../weights/salted_commit.ts";
import { hashSchema, hexSchema } from "./block_header.ts";
import { epochIndexOf, readEpochState } from "./epoch_state.ts";
import { address, bigInteger, integer } from "./plain_values.ts";
import { type StateAt, type StoredItem, subtensorItem } from "./state.ts";

export async function readWeights(
  state: StateAt,
  options: { netuid: number; mechanism: number; uid: number },
): Promise<{ uid: number; value: number }[]> {
  const row = subtensorItem("Weights", [storageIndex(options), options.uid], v.array(v.tuple([integer, integer])));
  const { weights } = await state.read({ weights: row });
  return (weights ?? []).map(([uid, value]) => ({ uid, value }));
}

/** Hash, block of the commit, first and last block at which it may be shown. */
const saltedSchema = v.nullable(v.array(v.tuple([hashSchema, integer, integer, integer])));

/** Hotkey, block of the commit, ciphertext, drand round. */
const timelockedSchema = v.array(v.tuple([address, integer, hexSchema, bigInteger]));

/** As runtimes before the commit's block was stored have it. */
const blocklessSchema = v.array(v.tuple([address, hexSchema, bigInteger]));

export async function readPendingCommits(
  state: StateAt,
  options: { netuid: number; mechanism: number; hotkey: Address },
): Promise<PendingCommit[]> {
  const index = storageIndex(options);
  const epochs = await readEpochState(state, options.netuid);
  const { salted, period } = await state.read({
    salted: subtensorItem("WeightCommits", [index, options.hotkey], saltedSchema),
    period: subtensorItem("RevealPeriodEpochs", [options.netuid], integer),
  });
  // A commit waits under the epoch it was made in until `period` epochs later. One more on either side: an epoch may be due now.
  const current = epochIndexOf(epochs);
  const first = Math.max(0, current - (period ?? 1) - 1);
  const batch: Record<string, StoredItem<readonly PendingCommit[]>> = {};
  for (let epoch = first; epoch <= current + 1; epoch++) {
    const firstBlock = epochs.formula === "legacy" ? epoch * (epochs.tempoBlocks + 1) - options.netuid - 1 : 0;
    for (const [name, schema] of Object.entries(timelockedEntries(options.hotkey, Math.max(0, firstBlock)))) {
      batch[`${name}${epoch}`] = subtensorItem(name, [index, epoch], schema);
    }
  }
  const timelocked = Object.values(await state.read(batch)).flatMap((commits) => commits ?? []);
  return [
    ...(salted ?? []).map(([, committedBlock, revealFromBlock]) => ({
      committedBlock,
      revealRound: null,
      revealFromBlock,
    })),
    ...timelocked,
  ].sort((a, b) => a.committedBlock - b.committedBlock);
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
