/**
 * What goes wrong on a validator's way to the chain, drawn between blocks.
 *
 * Owns: the draws, and which blocks each of them takes from the validator: until its cause has ended and the client has had the
 * blocks it needs to be back. They follow from the cause, never from what the validator made of it.
 */

import { callLifeBlocks } from "../../../chain/chain.ts";
import { localGenesis } from "../../../chain/local/block/genesis.ts";
import { hotkeyOfMiniSecret } from "../../../chain/wallet/hotkey.ts";
import { netuid } from "./chain_fault_world.ts";
import { ourVersionKey, type WeightPathWorld } from "./weight_path_world.ts";

export const faultKinds = [
  "cut", // the socket breaks
  "halfDead", // it stands, and heads or everything stay away
  "answers", // one call's answer is lost, late or no JSON
  "tooMany", // 429, of calls or of the handshake
  "priority", // 1014: another program of ours has the nonce
  "outage", // no endpoint answers, for up to an epoch
  "upgrade", // another runtime version, told or not
  "restart", // killed, and some blocks later opened again
  "tempo",
  "mode", // plain, salted, timelocked
  "uids", // newcomers replace the oldest neuron, us among them
  "limits", // version key and stake threshold rise for a while
] as const;
export type FaultKind = (typeof faultKinds)[number];
export type Mode = "plain" | "salted" | "timelocked";

/**
 * Blocks that a validator needs once nothing is in its way: a look, the reveal and its block, a look, the call and its block.
 */
export const workBlocks = 6;
const redialBlocks = 5; // the longest wait between two connections to a public node: 60 s
const idleLookBlocks = 10; // between two looks of a validator that has nothing to do
const callBlocks = 2; // until a call without an answer gives its socket up: 15 s
const methods = [
  ...["author_submitAndWatchExtrinsic", "chain_getBlock", "state_queryStorageAt", "state_call", "state_getStorage"],
  ...["system_accountNextIndex", "chain_getFinalizedHead", "chain_getHeader", "author_submitExtrinsic"],
];
const usualBlocks = 25, usualEpochs = 4; // between two faults of a kind
const frequent: Partial<Record<FaultKind, number>> = {
  cut: usualBlocks,
  answers: usualBlocks,
  priority: usualBlocks,
  uids: 40,
};
const stakeThresholdRao = 10_000_000_000_000n; // more than we have

export interface FaultOptions {
  readonly world: WeightPathWorld;
  readonly kinds: readonly FaultKind[];
  readonly dice: (below: number) => number;
  readonly tempoBlocks: number;
}

export class WeightPathFaults {
  /** Up to this block something is in the validator's way. */
  blockedUntil = 0;
  /** By this block at the latest the newest tempo has been looked at: until then the window was not where it had seemed to be. */
  movedUntil = 0;
  /** A commit of this block or before need not be revealed: its epoch's number or the way to reveal it has changed. */
  changedBlock = 0;
  mode: Mode;
  readonly #options: FaultOptions;
  readonly #endings: { readonly block: number; readonly end: () => void }[] = [];
  readonly #calm: number; // how much rarer than usual the faults of this seed are
  #newcomers = 0;

  constructor(options: FaultOptions, mode: Mode) {
    this.#options = options;
    this.mode = mode;
    this.#calm = 1 + options.dice(3);
  }

  /** Before the next block. */
  async draw(): Promise<void> {
    this.#endDue();
    const { kinds, dice, tempoBlocks } = this.#options;
    for (const kind of kinds) {
      if (dice(this.#calm * (frequent[kind] ?? usualEpochs * tempoBlocks)) === 0) await this.#strike(kind);
    }
  }

  /** No more faults: what can be taken back is. */
  stop(): void {
    for (const { end } of this.#endings.splice(0)) end();
    const { world } = this.#options;
    for (const proxy of world.proxies) proxy.heal();
    world.isRivalNext = false;
    this.#block(redialBlocks + callBlocks);
  }

  get #head(): number {
    return this.#options.world.ledger.head().number;
  }

  /** `blocks` from now until the validator can work again. */
  #block(blocks: number): void {
    this.blockedUntil = Math.max(this.blockedUntil, this.#head + blocks);
    if (this.movedUntil > this.#head) this.movedUntil = Math.max(this.movedUntil, this.blockedUntil + 1);
  }

  #for(blocks: number, end: () => void): void {
    this.#endings.push({ block: this.#head + blocks, end });
  }

  #endDue(): void {
    const due = this.#endings.filter(({ block }) => block <= this.#head);
    for (const ending of due) {
      this.#endings.splice(this.#endings.indexOf(ending), 1);
      ending.end();
    }
  }

  async #strike(kind: FaultKind): Promise<void> {
    const { world, dice, tempoBlocks } = this.#options;
    const { proxies } = world;
    switch (kind) {
      case "cut":
        for (const proxy of proxies) proxy.cut();
        return this.#block(1);
      case "halfDead":
        return this.#halve();
      case "answers":
        return this.#spoil();
      case "tooMany":
        return this.#refuse();
      case "priority":
        world.isRivalNext = true;
        return this.#for(1, () => world.isRivalNext = false);
      case "outage": {
        const blocks = 1 + dice(dice(3) === 0 ? tempoBlocks : 8);
        this.#away(503, blocks);
        return this.#block(blocks + redialBlocks);
      }
      case "upgrade":
        world.upgrade({ isTold: dice(3) > 0 });
        return this.#block(2);
      case "restart":
        return await this.#restart();
      case "tempo":
        this.#rules({ tempoBlocks: 20 + dice(21) });
        this.movedUntil = Math.max(this.#head + idleLookBlocks, this.blockedUntil + 1);
        return;
      case "mode":
        return this.changeMode((["plain", "salted", "timelocked"] as const)[dice(3)]!);
      case "uids":
        this.#newcomers += 1;
        return world.register(hotkeyOfMiniSecret(new Uint8Array(32).fill(9).with(0, this.#newcomers % 200)).address);
      case "limits":
        return this.#raise();
    }
  }

  changeMode(mode: Mode): void {
    if (mode === this.mode) return;
    this.mode = mode;
    this.changedBlock = this.#head + 1;
    this.#options.world.setCommitRevealVersion(mode === "salted" ? 3 : 4);
    this.#rules({ isCommitReveal: mode !== "plain" });
    this.#block(3); // a call on its way is of the wrong kind
  }

  #rules(change: Parameters<WeightPathWorld["ledger"]["setHyperparameters"]>[1]): void {
    this.#options.world.ledger.setHyperparameters(netuid, change);
    if (change.tempoBlocks !== undefined) this.changedBlock = this.#head + 1;
  }

  #halve(): void {
    const { world: { proxies }, dice } = this.#options;
    const isSilent = dice(2) === 0;
    const blocks = 1 + dice(12);
    for (const proxy of proxies) proxy[isSilent ? "isSilent" : "hidesHeads"] = true;
    this.#for(blocks, () => {
      for (const proxy of proxies) proxy.isSilent = proxy.hidesHeads = false;
    });
    // Sessions that the silence outlived are gone by then, and the next handshake may have been swallowed too.
    this.#block(blocks + (isSilent ? callBlocks : 0) + redialBlocks);
  }

  #spoil(): void {
    const { world: { proxies }, dice } = this.#options;
    const method = methods[dice(methods.length)]!;
    const times = 1 + dice(2);
    const late = Promise.withResolvers<void>();
    for (const proxy of proxies) {
      const fates = [{ type: "swallow" }, { type: "drop" }, { type: "dropAnswer" }, { type: "garble" }] as const;
      const which = dice(6);
      if (which < 4) proxy.next(method, fates[which]!, times);
      else proxy.next(method, { type: "hold", release: late.promise });
    }
    const blocks = 1 + dice(3);
    this.#for(blocks, () => {
      late.resolve();
      for (const proxy of proxies) proxy.forget();
    });
    this.#block(blocks + callBlocks);
  }

  #refuse(): void {
    const { world: { proxies }, dice } = this.#options;
    if (dice(2) === 0) {
      const blocks = 1 + dice(4);
      this.#away(429, blocks);
      return this.#block(blocks + redialBlocks);
    }
    const error = { code: -32_000, message: "429: too many requests" };
    for (const proxy of proxies) proxy.next(methods[dice(methods.length)]!, { type: "refuse", error }, 1 + dice(2));
    const blocks = 3;
    this.#for(blocks, () => proxies.forEach((proxy) => proxy.forget()));
    this.#block(blocks);
  }

  #away(status: number, blocks: number): void {
    const { world: { proxies } } = this.#options;
    for (const proxy of proxies) {
      proxy.refusedStatus = status;
      proxy.cut();
    }
    this.#for(blocks, () => proxies.forEach((proxy) => proxy.refusedStatus = null));
  }

  async #restart(): Promise<void> {
    const { world, dice } = this.#options;
    if (!world.isConnected) return;
    // The signed call is no longer known, so a call that got nowhere is awaited until it can no longer land.
    if (world.isCallOpen) this.#block(callLifeBlocks);
    await world.kill();
    const blocks = dice(3) === 0 ? 1 + dice(6) : 0;
    if (blocks === 0) world.start();
    else this.#for(blocks, () => world.start());
    this.#block(blocks + 2);
  }

  #raise(): void {
    const { world, dice, tempoBlocks } = this.#options;
    const blocks = 1 + dice(2 * tempoBlocks);
    if (dice(2) === 0) {
      this.#rules({ weightsVersionKey: ourVersionKey + 1n });
      this.#for(blocks, () => this.#rules({ weightsVersionKey: BigInt(dice(4)) }));
    } else {
      world.setStakeThreshold(stakeThresholdRao);
      this.#for(blocks, () => world.setStakeThreshold(localGenesis().stakeThresholdRao));
    }
    this.#block(blocks);
    this.changedBlock = this.#head + blocks + 1; // a reveal meets the same checks
  }
}
