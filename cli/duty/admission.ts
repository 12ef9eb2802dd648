/**
 * Who may join a run: hotkeys that its subnet knows, and as validators those with a permit.
 *
 * Owns: the list, read from the chain and read again as blocks come, and what a stranger is told. A place or permit that is lost
 * counts for some minutes more: whoever is pushed out may register again, and an endpoint may lag. When the chain cannot be asked
 * the last list counts. Nobody is turned away for good by a list that is older than its question, as it may have registered since:
 * such a node is told to come again, and the list is read with the next block.
 */

import { type Chain, ChainError } from "../../chain/chain.ts";
import { type Fault, fault } from "../../core/fault.ts";
import type { Role } from "../../core/protocol/message.ts";

const lookBlocks = 5; // a minute: whoever has registered wants to join
const stayBlocks = 50; // ten minutes
const askedMax = 1_024; // whoever comes while so many are remembered is told to come again, too

export interface AdmissionOptions {
  readonly network: string;
  readonly netuid: number;
  readonly onProblem: (text: string) => void;
  readonly onFailure: (error: unknown) => void;
}

export class Admission {
  readonly #options: AdmissionOptions;
  readonly #registered = new Presence();
  readonly #permitted = new Presence();
  #readBlock = -1; // of the newest list
  #lookAtBlock = 0;
  #headBlock = 0;
  readonly #asked = new Map<string, number>(); // who is not on the list, with the newest block when it first asked
  #isLooking = false;
  /** Called when the list was read again. */
  onRenewed: () => void = () => {};

  constructor(options: AdmissionOptions) {
    this.#options = options;
  }

  /** Keeps to this chain's list from now on; returns the way to stop. */
  follow(chain: Chain): () => void {
    return chain.onHead(({ block }) => {
      this.#headBlock = block;
      if (this.#isLooking || block < this.#lookAtBlock) return;
      this.#isLooking = true;
      this.#look(chain, block).catch(this.#options.onFailure).finally(() => this.#isLooking = false);
    });
  }

  /** Null: admitted. */
  check({ node, role }: { node: string; role: Role }): Fault | null {
    const { netuid, network } = this.#options;
    if ((role === "miner" ? this.#registered : this.#permitted).has(node)) {
      this.#asked.delete(node);
      return null;
    }
    if (!this.#isListFor(node)) {
      return fault(
        "wrongPhase",
        `Cannot admit ${node} yet as subnet ${netuid} of ${network} is still being read; try again`,
      );
    }
    if (!this.#registered.has(node)) {
      return fault(
        "notAdmitted",
        `Cannot admit ${node} as its hotkey must be registered on subnet ${netuid} of ${network}: it is not; ` +
          `register it: iota chain register --netuid ${netuid} --endpoint ${network}`,
      );
    }
    return fault(
      "notAdmitted",
      `Cannot admit ${node} as a validator must have a permit on subnet ${netuid} of ${network}: it has none; ` +
        `see what it needs: iota chain status --netuid ${netuid} --endpoint ${network}`,
    );
  }

  /** Whether the list is newer than this node's question. */
  #isListFor(node: string): boolean {
    const askedBlock = this.#asked.get(node) ?? this.#headBlock;
    if (this.#readBlock > askedBlock) {
      this.#asked.delete(node); // whoever asks again later, asks anew
      return true;
    }
    this.#lookAtBlock = 0;
    if (this.#asked.size < askedMax) this.#asked.set(node, askedBlock);
    return false;
  }

  async #look(chain: Chain, block: number): Promise<void> {
    try {
      const { neurons, block: readBlock } = await chain.metagraph();
      this.#lookAtBlock = block + lookBlocks;
      if (readBlock < this.#readBlock) {
        return this.#options.onProblem(`the endpoint lags: it lists block ${readBlock} after ${this.#readBlock}`);
      }
      this.#readBlock = readBlock;
      for (const [node, askedBlock] of this.#asked) {
        if (askedBlock < readBlock - stayBlocks) this.#asked.delete(node); // it has not come again
      }
      this.#registered.renew(neurons.map(({ hotkey }) => hotkey), block);
      this.#permitted.renew(neurons.flatMap(({ hotkey, hasPermit }) => hasPermit ? [hotkey] : []), block);
      this.onRenewed();
    } catch (error) {
      if (!(error instanceof ChainError)) throw error;
      if (error.code !== "closed") this.#options.onProblem(error.message);
    }
  }
}

/** Who is there, or was until a few minutes ago. */
class Presence {
  readonly #missingSince = new Map<string, number | null>(); // by hotkey, the block of the first look without it; null: there

  has(hotkey: string): boolean {
    return this.#missingSince.has(hotkey);
  }

  renew(hotkeys: readonly string[], block: number): void {
    const there = new Set(hotkeys);
    for (const [hotkey, since] of this.#missingSince) {
      if (there.has(hotkey)) continue;
      if (since === null) this.#missingSince.set(hotkey, block);
      else if (block >= since + stayBlocks) this.#missingSince.delete(hotkey);
    }
    for (const hotkey of there) this.#missingSince.set(hotkey, null);
  }
}
