/** Finds an extrinsic in the blocks, from the newest along their parents, so that abandoned branches never count. */

import { hexToU8a } from "@polkadot/util";
import * as v from "valibot";
import type { ChainCall } from "../../call.ts";
import { callLifeBlocks, type Receipt } from "../../chain.ts";
import { readAccount } from "../reads/accounts.ts";
import { blake2Hex, type BlockRef, hashSchema, hexSchema } from "../connection/plain_values.ts";
import type { Connection } from "../connection/connection.ts";
import type { SignedExtrinsic } from "./extrinsics.ts";
import { dispatchRefusal } from "./refusals.ts";
import { isStateGone } from "../connection/rpc_error.ts";
import type { Session } from "../connection/session.ts";
import { readAtBlock, StateAt } from "../connection/state.ts";

export interface Inclusion {
  readonly block: BlockRef;
  readonly index: number;
  readonly hash: string;
}

/** `overtaken`: another extrinsic used the nonce. */
export type Lookup =
  | { readonly type: "included"; readonly inclusion: Inclusion }
  | { readonly type: "overtaken" }
  | { readonly type: "notYet"; readonly headBlock: number }
  | { readonly type: "unreadable" }; // the nonce is used, but a block is missing

/** Takes an extrinsic as hex. */
type IsSought = (extrinsic: string) => boolean;

const blockSchema = v.object({
  block: v.object({
    header: v.object({ number: v.string(), parentHash: hashSchema }),
    extrinsics: v.array(hexSchema),
  }),
});

export class BlockSearch {
  readonly #connection: Connection;
  readonly #isSought: IsSought;
  readonly #afterBlock: number;
  readonly #blocksMax: number; // per look
  readonly #searched = new Set<string>(); // blocks without it, as are their parents

  /** `afterBlock`: the newest at the extrinsic's creation. */
  constructor(options: { connection: Connection; isSought: IsSought; afterBlock: number; blocksMax?: number }) {
    this.#connection = options.connection;
    this.#isSought = options.isSought;
    this.#afterBlock = options.afterBlock;
    this.#blocksMax = options.blocksMax ?? callLifeBlocks;
  }

  /** Also reads what the account's nonce implies about a missing extrinsic. */
  look({ account, nonce }: { account: string; nonce: number }): Promise<Lookup> {
    return this.#connection.run(async (session) => {
      const { head } = session;
      const { inclusion, isComplete } = await this.#walk(session, head);
      if (inclusion !== null) return { type: "included", inclusion };
      const state = await readAccount(new StateAt(session, head), account);
      if (state.nonce <= nonce) return { type: "notYet", headBlock: head.number };
      return { type: isComplete ? "overtaken" : "unreadable" };
    });
  }

  lookFrom(block: BlockRef): Promise<{ inclusion: Inclusion | null; isComplete: boolean }> {
    return this.#connection.run((session) => this.#walk(session, block));
  }

  findIn(hash: string): Promise<Inclusion | null> {
    return this.#connection.run(async (session) => (await this.#read(session, hash))?.inclusion ?? null);
  }

  async #walk(session: Session, head: BlockRef): Promise<{ inclusion: Inclusion | null; isComplete: boolean }> {
    const read: string[] = [];
    let { hash, number } = head;
    for (; number > this.#afterBlock && !this.#searched.has(hash); number--) {
      const block = read.length < this.#blocksMax ? await this.#read(session, hash) : null;
      if (block === null) return { inclusion: null, isComplete: false };
      if (block.inclusion !== null) return { inclusion: block.inclusion, isComplete: true };
      read.push(hash);
      hash = block.parentHash;
    }
    for (const each of read) this.#searched.add(each); // only now: an interrupted walk says nothing about parents
    return { inclusion: null, isComplete: true };
  }

  async #read(session: Session, hash: string): Promise<{ inclusion: Inclusion | null; parentHash: string } | null> {
    const answer = await readBlock(session, hash);
    if (answer === null) return null;
    const { block: { header, extrinsics } } = v.parse(blockSchema, answer);
    const index = extrinsics.findIndex(this.#isSought);
    const inclusion = index < 0 ? null : {
      block: { number: Number.parseInt(header.number, 16), hash },
      index,
      hash: blake2Hex(hexToU8a(extrinsics[index]!)),
    };
    return { inclusion, parentHash: header.parentHash };
  }
}

async function readBlock(session: Session, hash: string): Promise<unknown> {
  try {
    return await session.socket.call("chain_getBlock", [hash]);
  } catch (error) {
    if (isStateGone(error)) return null;
    throw error;
  }
}

export function isExtrinsic({ hash }: Pick<SignedExtrinsic, "hash">): IsSought {
  return (extrinsic) => blake2Hex(hexToU8a(extrinsic)) === hash;
}

export function isSameCall({ publicKey, call }: { publicKey: Uint8Array; call: Uint8Array }): IsSought {
  const account = publicKey.toHex(), ending = call.toHex();
  // length | 0x84 | 0x00 account(32) | signature | extensions | call
  return (extrinsic) => extrinsic.endsWith(ending) && new RegExp(`^0x.{2,8}?8400${account}`, "i").test(extrinsic);
}

export async function readOutcome(
  options: {
    connection: Connection;
    archive: () => Promise<Connection | null>;
    inclusion: Inclusion;
    call: ChainCall["type"];
  },
): Promise<Receipt> {
  const { inclusion: { block, index, hash }, call } = options;
  return await readAtBlock({ ...options, block }, async (state) => {
    const events = (await state.events()).filter((event) => event.extrinsic === index && event.pallet === "system");
    const failed = events.find(({ name }) => name === "ExtrinsicFailed");
    if (failed !== undefined) {
      return {
        status: "refused",
        refusal: dispatchRefusal({ ...state.runtime.dispatchFailure(failed.data[0]), call }),
      };
    }
    if (events.some(({ name }) => name === "ExtrinsicSuccess")) {
      return { status: "included", block: block.number, extrinsicHash: hash };
    }
    return { status: "unknown", why: `the call is in block ${block.number}, whose events do not say how it ended` };
  });
}
