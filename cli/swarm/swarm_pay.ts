/**
 * What a swarm's own chain has paid each hotkey: its stake, less what was staked by coldkeys.
 *
 * Owns: the sum of those stakes since the chain's first block, also of earlier starts of the swarm, and what the epochs
 * burned. The metagraph's `emission` is not used: it also lists what the chain burned.
 */

import type { ChainEvent } from "../../chain/local/block/events.ts";
import type { LocalLedger } from "../../chain/local/local_ledger.ts";
import { decodeAddress } from "../../chain/wallet/ss58.ts";
import { present } from "../../core/assert.ts";

export class SwarmPay {
  readonly #ledger: LocalLedger;
  readonly #netuid: number;
  readonly #stakedRao = new Map<string, bigint>(); // by hotkey, less what was taken back
  #burnedRao = 0n;

  /** Reads every block there is: a quarter of a second for 10,000. */
  constructor(ledger: LocalLedger, netuid: number) {
    this.#ledger = ledger;
    this.#netuid = netuid;
    for (let block = 1; block <= ledger.head().number; block++) this.onBlock(block);
  }

  /** Incentive of hotkeys whose coldkey owns the subnet. */
  get burnedRao(): bigint {
    return this.#burnedRao;
  }

  onBlock(number: number): void {
    for (const event of this.#ledger.eventsOf(number)) this.#onEvent(event);
  }

  earnedRao(hotkey: string): bigint {
    const account = present(decodeAddress(hotkey), "A hotkey is an address");
    const stakeRao = this.#ledger.storage("SubtensorModule.TotalHotkeyAlpha", [account, this.#netuid]) as bigint;
    return stakeRao - (this.#stakedRao.get(hotkey) ?? 0n);
  }

  #onEvent(event: ChainEvent): void {
    if (event.type === "epochRan" && event.netuid === this.#netuid) this.#burnedRao += event.burnedRao;
    if (event.type !== "stakeAdded" && event.type !== "stakeRemoved") return;
    if (event.netuid !== this.#netuid) return;
    const { hotkey, amountRao } = event;
    const added = event.type === "stakeAdded" ? amountRao : -amountRao;
    this.#stakedRao.set(hotkey, (this.#stakedRao.get(hotkey) ?? 0n) + added);
  }
}
