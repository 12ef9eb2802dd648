/**
 * Decides who may join a run: registered hotkeys; as validators, only those with a permit. If the chain is unreachable,
 * the last list applies.
 *
 * A lost place or permit stays valid for some minutes, because a displaced hotkey may register again and an endpoint
 * may lag. Only a list newer than a node's first attempt refuses it for good; until then it must retry, and the list is
 * read again with the next block.
 */

import { type Chain, ChainError, type Head } from "../../../chain/chain.ts";
import { type Fault, fault } from "../../../core/fault.ts";
import type { Role } from "../../../core/protocol/message.ts";
import { nodeCommand } from "../text/chain_words.ts";

const lookBlocks = 5; // one minute: newly registered nodes want to join
const stayBlocks = 50; // ten minutes
const mostNewcomers = 1024; // waiting for a newer list

interface AdmissionOptions {
  readonly network: string;
  readonly netuid: number;
  readonly onProblem: (text: string) => void;
  readonly onFailure: (error: unknown) => void;
}

export class Admission {
  readonly #options: AdmissionOptions;
  readonly #registered = new Presence();
  readonly #permitted = new Presence();
  readonly #newcomers = new Map<string, number>(); // by hotkey, the newest block at its first attempt
  #headBlock = -1;
  #readBlock = -1;
  #lookAtBlock = 0;
  #isLooking = false;
  #isUnreachable = false;
  onRenewed: () => void = () => {};

  constructor(options: AdmissionOptions) {
    this.#options = options;
  }

  chainIsUnreachable(): void {
    this.#isUnreachable = true;
  }

  /** Starts at once; returns a function that stops. */
  follow(chain: Chain): () => void {
    this.#isUnreachable = false;
    const onHead = ({ block }: Head) => {
      this.#headBlock = Math.max(this.#headBlock, block);
      if (this.#isLooking || block < this.#lookAtBlock) return;
      this.#isLooking = true;
      this.#look(chain, block).catch(this.#options.onFailure).finally(() => this.#isLooking = false);
    };
    chain.head().then(onHead).catch((error) => {
      if (!(error instanceof ChainError)) this.#options.onFailure(error);
    });
    return chain.onHead(onHead);
  }

  /** Null: admitted. */
  check({ node, role }: { node: string; role: Role }): Fault | null {
    const { netuid, network } = this.#options;
    if (this.#readBlock < 0) {
      return fault(
        "wrongPhase",
        `Cannot admit anyone yet: ${
          this.#isUnreachable
            ? `the orchestrator cannot reach the chain with subnet ${netuid} of ${network}`
            : `subnet ${netuid} of ${network} is still being read`
        }; try again`,
      );
    }
    const refusal = this.#refusal({ node, role });
    if (refusal === null || !this.#mayBeNew(node)) return refusal;
    return fault(
      "wrongPhase",
      `${refusal.detail}; if that has just changed, the next block will show it; try again`,
    );
  }

  #refusal({ node, role }: { node: string; role: Role }): Fault | null {
    const { netuid, network } = this.#options;
    if (!this.#registered.has(node)) {
      return fault(
        "notAdmitted",
        `Cannot admit ${node}: its hotkey is not registered on subnet ${netuid} of ${network}; ` +
          `register it: ${nodeCommand({ network, netuid, hotkey: node })("register")}`,
      );
    }
    if (role === "miner" || this.#permitted.has(node)) return null;
    return fault(
      "notAdmitted",
      `Cannot admit ${node}: it has no validator permit on subnet ${netuid} of ${network}; ` +
        `see what it needs: ${nodeCommand({ network, netuid, hotkey: node })("status")}`,
    );
  }

  /** True until a list is newer than the node's first attempt. */
  #mayBeNew(node: string): boolean {
    const cameAtBlock = this.#newcomers.get(node) ?? this.#headBlock;
    this.#newcomers.delete(node);
    if (this.#readBlock > cameAtBlock) return false;
    this.#newcomers.set(node, cameAtBlock);
    const [oldest] = this.#newcomers.keys();
    if (this.#newcomers.size > mostNewcomers) this.#newcomers.delete(oldest!);
    this.#lookAtBlock = 0;
    return true;
  }

  async #look(chain: Chain, block: number): Promise<void> {
    try {
      const { neurons, block: readBlock } = await chain.metagraph();
      this.#lookAtBlock = block + lookBlocks;
      if (readBlock < this.#readBlock) {
        return this.#options.onProblem(`the endpoint lags: it returned block ${readBlock} after ${this.#readBlock}`);
      }
      this.#readBlock = readBlock;
      this.#registered.renew(neurons.map(({ hotkey }) => hotkey), block);
      this.#permitted.renew(neurons.flatMap(({ hotkey, hasPermit }) => hasPermit ? [hotkey] : []), block);
      this.onRenewed();
    } catch (error) {
      if (!(error instanceof ChainError)) throw error;
      if (error.code !== "closed") this.#options.onProblem(error.message);
    }
  }
}

class Presence {
  readonly #missingSince = new Map<string, number | null>(); // by hotkey, the first block without it; null: present

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
