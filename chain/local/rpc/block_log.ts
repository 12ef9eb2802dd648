/**
 * The last blocks as clients ask for them: header, extrinsics, events. Older blocks keep only their header, in the ledger.
 *
 * Owns: joining a block's outcomes with the extrinsics that led to them. Calls that reached the ledger on another way than through
 * this node have no bytes and are not shown.
 */

import { assert, present } from "../../../core/assert.ts";
import type { Ledger, LocalBlock, LocalHeader } from "../ledger.ts";
import type { Runtime } from "../surface/runtime.ts";
import { ScaleWriter } from "../surface/scale_bytes.ts";
import { blockEvents } from "./events.ts";
import type { PooledExtrinsic } from "./pool.ts";

export interface LoggedBlock {
  readonly number: number;
  readonly hash: Uint8Array;
  readonly header: LocalHeader;
  readonly timestampMs: number;
  readonly extrinsics: readonly Uint8Array[];
  readonly events: Uint8Array;
  readonly eventCount: number;
}

export class BlockLog {
  readonly #blocks = new Map<string, LoggedBlock>(); // by hash, oldest first

  constructor(readonly options: { readonly runtime: Runtime; readonly ledger: Ledger; readonly keptBlocks: number }) {}

  get(hash: Uint8Array): LoggedBlock | null {
    return this.#blocks.get(hash.toHex()) ?? null;
  }

  head(): LoggedBlock {
    return present(this.get(this.options.ledger.head().hash), "Cannot show the head as every block must be logged");
  }

  /** `included` are the block's calls that came as extrinsics, by submission. */
  add(block: LocalBlock, included: ReadonlyMap<number, PooledExtrinsic>): LoggedBlock {
    const { runtime, ledger, keptBlocks } = this.options;
    const header = present(
      ledger.header(block.hash),
      `Cannot log block ${block.number} as the ledger must have its header`,
    );
    const applied = block.outcomes.flatMap(({ submission, error }) => {
      const extrinsic = included.get(submission);
      return extrinsic === undefined ? [] : [{ ...extrinsic, error }];
    });
    const events = blockEvents(runtime, applied);
    const logged: LoggedBlock = {
      number: block.number,
      hash: block.hash,
      header,
      timestampMs: block.timestampMs,
      extrinsics: [clockExtrinsic(runtime, block.timestampMs), ...applied.map(({ bytes }) => bytes)],
      events: events.bytes,
      eventCount: events.count,
    };
    this.#blocks.set(block.hash.toHex(), logged);
    if (this.#blocks.size > keptBlocks) this.#blocks.delete(this.#blocks.keys().next().value!);
    return logged;
  }
}

/** The unsigned extrinsic with which a block's author sets the clock. */
function clockExtrinsic({ surface, scale }: Runtime, timestampMs: number): Uint8Array {
  const pallet = surface.pallets.find(({ name }) => name === "Timestamp");
  assert(pallet !== undefined, "Cannot write the clock's extrinsic as the surface must have the pallet Timestamp");
  const body = new ScaleWriter();
  body.u8(4); // version, unsigned
  const now = BigInt(Math.max(0, Math.floor(timestampMs)));
  scale.write("RuntimeCall", { type: pallet.name, value: { type: "set", value: now } }, body);
  const whole = new ScaleWriter();
  whole.blob(body.bytes());
  return whole.bytes();
}
