/** A validator's row, unrevealed commits and calls. */

import * as v from "valibot";
import type { Address } from "../../call.ts";
import type { EpochState, PendingCommit, WeightCallSearch } from "../../chain.ts";
import { epochIndex, firstBlockOfEpoch } from "../../epochs/epochs.ts";
import { storageIndex } from "../../weights/salted_commit.ts";
import { readEpochState } from "./parameters.ts";
import { address, bigInteger, hashSchema, hexSchema, integer } from "../connection/plain_values.ts";
import { StateAt, type StoredItem, subtensorItem } from "../connection/state.ts";
import { hexToU8a } from "@polkadot/util";
import { decodeAddress } from "../../wallet/ss58.ts";
import type { Connection } from "../connection/connection.ts";
import { isStateGone } from "../connection/rpc_error.ts";
import type { Runtime } from "../connection/runtime.ts";
import type { Session } from "../connection/session.ts";

export async function readWeights(
  state: StateAt,
  options: { netuid: number; mechanism: number; uid: number },
): Promise<{ uid: number; value: number }[]> {
  const row = subtensorItem("Weights", [storageIndex(options), options.uid], v.array(v.tuple([integer, integer])));
  const { weights } = await state.read({ weights: row });
  return (weights ?? []).map(([uid, value]) => ({ uid, value }));
}

/** Legacy: hash, block, first and last block of the reveal. Stateful: hash, epoch, block, 0. */
const saltedSchema = v.nullable(v.array(v.tuple([hashSchema, integer, integer, integer])));

/** Hotkey, block, ciphertext, drand round. */
const timelockedSchema = v.array(v.tuple([address, integer, hexSchema, bigInteger]));

/** Older runtimes store no block. */
const blocklessSchema = v.array(v.tuple([address, hexSchema, bigInteger]));

/** Oldest first. */
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
  // Commits stay under their epoch for `period` epochs; one more on either side, because an epoch may be due.
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

/** Two names and shapes, by runtime. */
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

const blockSchema = v.object({ block: v.object({ extrinsics: v.array(hexSchema) }) });
const callNames = /^(set|commit)\w*Weights$/i; // never a reveal

export async function findWeightCalls(
  connection: Connection,
  search: WeightCallSearch & { readonly netuid: number },
): Promise<number[] | null> {
  return await connection.run(async (session) => {
    const landed: number[] = [];
    for (let block = search.afterBlock + 1; block <= search.toBlock; block++) {
      const isThere = await hasWeightCall(session, block, search);
      if (isThere === null) return null;
      if (isThere) landed.push(block);
    }
    return landed;
  });
}

/** Null: the node lacks the data. */
async function hasWeightCall(
  session: Session,
  block: number,
  search: WeightCallSearch & { readonly netuid: number },
): Promise<boolean | null> {
  try {
    const hash = v.parse(v.nullable(hashSchema), await session.socket.call("chain_getBlockHash", [block]));
    const answer = hash === null ? null : await session.socket.call("chain_getBlock", [hash]);
    if (hash === null || answer === null) return null;
    const { extrinsics } = v.parse(blockSchema, answer).block;
    const sought = extrinsics.flatMap((extrinsic, i) => isWeightCall(session.runtime, extrinsic, search) ? [i] : []);
    if (sought.length === 0) return false;
    const events = await new StateAt(session, { number: block, hash }).events();
    return events.some(({ extrinsic, pallet, name }) =>
      extrinsic !== null && sought.includes(extrinsic) && pallet === "system" && name === "ExtrinsicSuccess"
    );
  } catch (error) {
    if (isStateGone(error)) return null;
    throw error;
  }
}

function isWeightCall(
  runtime: Runtime,
  extrinsic: string,
  { hotkey, netuid, mechanism }: WeightCallSearch & { readonly netuid: number },
): boolean {
  const account = decodeAddress(hotkey)?.toHex();
  // length | 0x84 | 0x00 account(32)
  if (account === undefined || !new RegExp(`^0x.{2,8}?8400${account}`, "i").test(extrinsic)) return false;
  const call = runtime.decodeExtrinsic(hexToU8a(extrinsic));
  if (call.pallet !== "subtensorModule" || !callNames.test(call.name) || call.args[0] !== netuid) return false;
  const ofMechanism = /mechanism/i.test(call.name) ? call.args[1] : 0;
  return ofMechanism === mechanism;
}
