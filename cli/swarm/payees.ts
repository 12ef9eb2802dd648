/**
 * Whom a swarm's own chain pays: nodes and guests, each hotkey once. A node of an earlier start stays registered and
 * keeps its wallet's name.
 */

import { hotkeyExists, loadHotkey } from "../../chain/wallet/hotkey_files.ts";
import type { ChainEvent } from "../../chain/local/block/events.ts";
import type { LocalLedger } from "../../chain/local/local_ledger.ts";
import { decodeAddress } from "../../chain/wallet/ss58.ts";
import { present } from "../../core/assert.ts";

export interface Enrolled {
  readonly name: string;
  readonly role: "miner" | "validator";
  readonly hotkey: string;
}

export class Payees {
  readonly #earlier: ReadonlyMap<string, Enrolled>;
  readonly #enrolled = new Map<string, Enrolled>();
  readonly #registered = new Map<string, Enrolled>(); // not by this start of the swarm

  constructor(earlier: readonly Enrolled[]) {
    this.#earlier = new Map(earlier.map((node) => [node.hotkey, node]));
  }

  enroll(node: Enrolled): void {
    this.#enrolled.set(node.hotkey, node);
    this.#registered.delete(node.hotkey);
  }

  note({ hotkey, hasPermit }: { hotkey: string; hasPermit: boolean }): void {
    if (this.#enrolled.has(hotkey)) return;
    const guest = { name: "guest", role: hasPermit ? "validator" : "miner", hotkey } as const;
    this.#registered.set(hotkey, this.#earlier.get(hotkey) ?? guest);
  }

  get enrolled(): readonly Enrolled[] {
    return [...this.#enrolled.values()];
  }

  get all(): readonly Enrolled[] {
    const byName = new Intl.Collator("en", { numeric: true });
    const isGuest = ({ name }: Enrolled) => Number(name === "guest");
    return [...this.#enrolled.values(), ...this.#registered.values()]
      .sort((a, b) => isGuest(a) - isGuest(b) || byName.compare(a.name, b.name));
  }
}

const nodeName = /^(miner|validator)-\d{1,6}$/;

/** Its node reports an unreadable key. */
export async function earlierNodes(folder: string): Promise<Enrolled[]> {
  const wallets = `${folder}/wallets`;
  const names: string[] = [];
  try {
    for await (const { name } of Deno.readDir(wallets)) if (nodeName.test(name)) names.push(name);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error; // the run's first start makes it
  }
  const nodes: Enrolled[] = [];
  for (const name of names) {
    const key = { folder: wallets, wallet: name, hotkey: "default" };
    const pair = await hotkeyExists(key) ? await loadHotkey(key).catch(() => null) : null;
    if (pair === null) continue;
    nodes.push({ name, role: name.startsWith("miner") ? "miner" : "validator", hotkey: pair.address });
  }
  return nodes;
}

/** What the chain has paid each hotkey: its stake, less what coldkeys staked. */
export class SwarmPay {
  readonly #ledger: LocalLedger;
  readonly #netuid: number;
  readonly #stakedRao = new Map<string, bigint>(); // by hotkey, less what was taken back
  #burnedRao = 0n;

  /** Reads every block: a quarter of a second for 10,000. */
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
