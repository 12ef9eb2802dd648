/** What the chain stores about an account. Only nodes know its next nonce with the pool. */

import * as v from "valibot";
import type { Address } from "../../call.ts";
import { axonSchema, type StoredAxon } from "./axon_address.ts";
import { bigInteger, hashSchema, integer } from "../connection/plain_values.ts";
import { isStateGone } from "../connection/rpc_error.ts";
import type { Session } from "../connection/session.ts";
import { StateAt, subtensorItem, systemItem } from "../connection/state.ts";

const accountSchema = v.object({ nonce: integer, data: v.object({ free: bigInteger }) });

interface Account {
  readonly nonce: number; // without the pool
  readonly freeRao: bigint;
}

export async function readAccount(state: StateAt, account: Address): Promise<Account> {
  const { found } = await state.read({ found: systemItem("Account", [account], accountSchema) });
  return { nonce: found?.nonce ?? 0, freeRao: found?.data.free ?? 0n };
}

/** Null: not registered. */
export async function readUid(state: StateAt, options: { netuid: number; hotkey: Address }): Promise<number | null> {
  const { uid } = await state.read({
    uid: subtensorItem("Uids", [options.netuid, options.hotkey], v.nullable(integer)),
  });
  return uid ?? null;
}

/** Null: the node lacks block or state. */
export async function readAlpha(
  session: Session,
  { hotkey, netuid, block: number }: { hotkey: Address; netuid: number; block: number },
): Promise<bigint | null> {
  const hash = v.parse(v.nullable(hashSchema), await session.socket.call("chain_getBlockHash", [number]));
  if (hash === null) return null;
  try {
    const { alpha } = await new StateAt(session, { number, hash }).read({
      alpha: subtensorItem("TotalHotkeyAlpha", [hotkey, netuid], bigInteger),
    });
    return alpha ?? null;
  } catch (error) {
    if (isStateGone(error)) return null;
    throw error;
  }
}

/** Null: never announced. */
export async function readAxon(
  state: StateAt,
  options: { netuid: number; hotkey: Address },
): Promise<StoredAxon | null> {
  const { axon } = await state.read({
    axon: subtensorItem("Axons", [options.netuid, options.hotkey], v.nullable(axonSchema)),
  });
  return axon ?? null;
}

/** Null: not registered. */
export async function readLastUpdate(
  state: StateAt,
  options: { netuid: number; index: number; hotkey: Address },
): Promise<number | null> {
  const uid = await readUid(state, options);
  if (uid === null) return null;
  const { blocks } = await state.read({ blocks: subtensorItem("LastUpdate", [options.index], v.array(integer)) });
  return blocks?.[uid] ?? null;
}
