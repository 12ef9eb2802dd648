/** The latest blocks as clients request them, without calls that did not come through this node. */

import { assert, present } from "../../../core/assert.ts";
import type { Ledger, LocalBlock, LocalHeader } from "../block/ledger.ts";
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
  readonly #blocks = new Map<string, LoggedBlock>(); // oldest first

  constructor(readonly options: { readonly runtime: Runtime; readonly ledger: Ledger; readonly keptBlocks: number }) {}

  get(hash: Uint8Array): LoggedBlock | null {
    return this.#blocks.get(hash.toHex()) ?? null;
  }

  head(): LoggedBlock {
    return present(this.get(this.options.ledger.head().hash), "The head's block is not in the log");
  }

  /** `included`: by submission. */
  add(block: LocalBlock, included: ReadonlyMap<number, PooledExtrinsic>): LoggedBlock {
    const { runtime, ledger, keptBlocks } = this.options;
    const header = present(
      ledger.header(block.hash),
      `Cannot log block ${block.number}: the ledger does not have its header`,
    );
    const applied = block.outcomes.flatMap((outcome) => {
      const extrinsic = included.get(outcome.submission);
      return extrinsic === undefined ? [] : [{ ...outcome, bytes: extrinsic.bytes, isFree: extrinsic.isFree }];
    });
    const events = blockEvents(runtime, { byItself: block.events, extrinsics: applied });
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

function clockExtrinsic({ surface, scale }: Runtime, timestampMs: number): Uint8Array {
  const pallet = surface.pallets.find(({ name }) => name === "Timestamp");
  assert(pallet !== undefined, "Cannot write the clock's extrinsic: the surface has no pallet Timestamp");
  const body = new ScaleWriter();
  body.u8(4); // version, unsigned
  const now = BigInt(Math.max(0, Math.floor(timestampMs)));
  scale.write("RuntimeCall", { type: pallet.name, value: { type: "set", value: now } }, body);
  const whole = new ScaleWriter();
  whole.blob(body.bytes());
  return whole.bytes();
}

type HeadListener = (block: LoggedBlock) => void;

export class Heads {
  readonly #listeners = new Set<HeadListener>();

  listen(listener: HeadListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  announce(block: LoggedBlock): void {
    for (const listener of [...this.#listeners]) listener(block);
  }
}
