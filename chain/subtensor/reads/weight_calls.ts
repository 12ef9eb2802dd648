/**
 * Which blocks hold a call of a hotkey that set or committed weights, read from the blocks and their events.
 *
 * Storage keeps only the last update, which the chain's own reveals overwrite; blocks keep every call. Only successful
 * calls are returned. Out of scope: the search for one extrinsic whose bytes are known (inclusion.ts).
 */

import { hexToU8a } from "@polkadot/util";
import * as v from "valibot";
import type { WeightCallSearch } from "../../chain.ts";
import { decodeAddress } from "../../wallet/ss58.ts";
import { hashSchema, hexSchema } from "../connection/plain_values.ts";
import type { Connection } from "../connection/connection.ts";
import { isStateGone } from "../connection/rpc_error.ts";
import type { Runtime } from "../connection/runtime.ts";
import type { Session } from "../connection/session.ts";
import { StateAt } from "../connection/state.ts";

const blockSchema = v.object({ block: v.object({ extrinsics: v.array(hexSchema) }) });
const callNames = /^(set|commit)\w*Weights$/i; // with a mechanism or without, hidden or not; never a reveal

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

/** Null if the node lacks the data, or no longer has it. */
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
  // length | 0x84 | 0x00 account(32): only an extrinsic of this account is worth decoding
  if (account === undefined || !new RegExp(`^0x.{2,8}?8400${account}`, "i").test(extrinsic)) return false;
  const call = runtime.decodeExtrinsic(hexToU8a(extrinsic));
  if (call.pallet !== "subtensorModule" || !callNames.test(call.name) || call.args[0] !== netuid) return false;
  const ofMechanism = /mechanism/i.test(call.name) ? call.args[1] : 0;
  return ofMechanism === mechanism;
}
