/**
 * Who may join a run: hotkeys that its subnet knows, and as validators those with a permit.
 *
 * Owns: the list, read from the chain and read again as blocks come, and what a stranger is told. Who is in a run stays in it when the
 * chain cannot be asked: the last list counts. Before the first one nobody is turned away for good: nodes are told to come again.
 */

import { type Chain, ChainError } from "../../chain/chain.ts";
import { type Fault, fault } from "../../core/fault.ts";
import type { Role } from "../../core/protocol/message.ts";

const lookBlocks = 5; // a minute: whoever has registered wants to join

export interface AdmissionOptions {
  readonly network: string;
  readonly netuid: number;
  readonly onProblem: (text: string) => void;
  readonly onFailure: (error: unknown) => void;
}

export class Admission {
  readonly #options: AdmissionOptions;
  #neurons: ReadonlyMap<string, { readonly hasPermit: boolean }> | null = null; // by hotkey
  #lookAtBlock = 0;
  #isLooking = false;

  constructor(options: AdmissionOptions) {
    this.#options = options;
  }

  /** Keeps to this chain's list from now on; returns the way to stop. */
  follow(chain: Chain): () => void {
    return chain.onHead(({ block }) => {
      if (this.#isLooking || block < this.#lookAtBlock) return;
      this.#isLooking = true;
      this.#look(chain, block).catch(this.#options.onFailure).finally(() => this.#isLooking = false);
    });
  }

  /** Null: admitted. */
  check({ node, role }: { node: string; role: Role }): Fault | null {
    const { netuid, network } = this.#options;
    if (this.#neurons === null) {
      return fault(
        "wrongPhase",
        `Cannot admit anyone yet as subnet ${netuid} of ${network} is still being read; try again`,
      );
    }
    const neuron = this.#neurons.get(node);
    if (neuron === undefined) {
      return fault(
        "notAdmitted",
        `Cannot admit ${node} as its hotkey must be registered on subnet ${netuid} of ${network}: it is not; ` +
          `register it: iota chain register --netuid ${netuid} --endpoint ${network}`,
      );
    }
    if (role === "miner" || neuron.hasPermit) return null;
    return fault(
      "notAdmitted",
      `Cannot admit ${node} as a validator must have a permit on subnet ${netuid} of ${network}: it has none; ` +
        `see what it needs: iota chain status --netuid ${netuid} --endpoint ${network}`,
    );
  }

  async #look(chain: Chain, block: number): Promise<void> {
    try {
      const { neurons } = await chain.metagraph();
      this.#neurons = new Map(neurons.map(({ hotkey, hasPermit }) => [hotkey, { hasPermit }]));
      this.#lookAtBlock = block + lookBlocks;
    } catch (error) {
      if (!(error instanceof ChainError)) throw error;
      if (error.code !== "closed") this.#options.onProblem(error.message);
    }
  }
}
