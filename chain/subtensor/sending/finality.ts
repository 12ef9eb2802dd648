/**
 * Whether a seen call is in the final chain. After a fork it may land elsewhere and end differently, so final blocks
 * are searched.
 */

import * as v from "valibot";
import type { ChainCall } from "../../call.ts";
import { callLifeBlocks, type Receipt } from "../../chain.ts";
import type { Connection } from "../connection/connection.ts";
import type { Session } from "../connection/session.ts";
import { type BlockRef, hashSchema, parseHeader } from "../connection/plain_values.ts";
import { BlockSearch, isExtrinsic, readOutcome } from "./inclusion.ts";

export interface SeenCall {
  readonly block: number;
  readonly extrinsicHash: string;
  readonly type: ChainCall["type"];
}

export type Finality =
  | { readonly status: "open"; readonly finalizedBlock: number }
  | { readonly status: "final"; readonly receipt: Receipt }
  | { readonly status: "undone"; readonly finalizedBlock: number }; // in no final block, and too late for another

interface FinalityOptions {
  readonly connection: Connection;
  readonly archive: () => Promise<Connection | null>;
  readonly seen: SeenCall;
}

const forkBlocksMax = 16; // forks may move it earlier; final blocks lag by two or three

export async function finalizedHead(session: Session): Promise<BlockRef> {
  const hash = v.parse(hashSchema, await session.socket.call("chain_getFinalizedHead", []));
  return parseHeader(await session.socket.call("chain_getHeader", [hash]));
}

export class FinalitySearch {
  readonly #options: FinalityOptions;
  readonly #search: BlockSearch;

  constructor(options: FinalityOptions) {
    const { connection, seen: { block, extrinsicHash } } = options;
    this.#options = options;
    this.#search = new BlockSearch({
      connection,
      isSought: isExtrinsic({ hash: extrinsicHash }),
      afterBlock: Math.max(0, block - forkBlocksMax),
      blocksMax: forkBlocksMax + callLifeBlocks,
    });
  }

  async look(): Promise<Finality> {
    const { connection, archive, seen: { block, type } } = this.#options;
    const finalized = await connection.run(finalizedHead);
    const open: Finality = { status: "open", finalizedBlock: finalized.number };
    if (finalized.number < block) return open;
    const { inclusion, isComplete } = await this.#search.lookFrom(finalized);
    if (inclusion !== null) {
      return { status: "final", receipt: await readOutcome({ connection, archive, inclusion, call: type }) };
    }
    const isTooLate = finalized.number >= block + callLifeBlocks;
    return isComplete && isTooLate ? { status: "undone", finalizedBlock: finalized.number } : open;
  }
}
