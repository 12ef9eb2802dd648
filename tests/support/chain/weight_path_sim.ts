/**
 * One seed of the whole weight path: fifty epochs with faults, two without, and the truth about both, kept from the ledger alone.
 *
 * A window counts as missed when an epoch ended without a call of ours though for `workBlocks` of the window, one after the other,
 * nothing had been in the way of it; what is in the way is a drawn fault (weight_path_faults.ts) or the chain's own no: no seat, no
 * permit, too little stake, too old a version.
 */

import { assert, assertEquals } from "@std/assert";
import { leadBlocks } from "../../../chain/duty/window.ts";
import { raoPerToken } from "../../../chain/local/block/genesis.ts";
import { uidOf } from "../../../chain/local/state/neurons.ts";
import { keyOf } from "../../../chain/local/state/records.ts";
import { decodeAddress, encodeAddress } from "../../../chain/wallet/ss58.ts";
import { hotkeyOfMiniSecret } from "../../../chain/wallet/hotkey.ts";
import { netuid } from "./chain_fault_world.ts";
import { prngOf } from "../small_prng.ts";
import { type FaultKind, faultKinds, type Mode, WeightPathFaults, workBlocks } from "./weight_path_faults.ts";
import { ourVersionKey, type OwnCall, validator, WeightPathWorld } from "./weight_path_world.ts";

const miners = [11, 12, 13, 14, 15].map((seed) => hotkeyOfMiniSecret(new Uint8Array(32).fill(seed)).address);
const stakeRao = 1_000n * raoPerToken;

export interface Epoch {
  readonly endBlock: number;
  readonly landed: number; // calls that set or commit
  readonly isExcused: boolean;
}

interface Commit {
  readonly block: number;
  readonly dueEpoch: number; // by our count
}

export interface WeightPathOptions {
  readonly seed: number;
  readonly folder: string;
  readonly kinds?: readonly FaultKind[]; // default: drawn
}

export class WeightPathSim {
  readonly epochs: Epoch[] = [];
  readonly refusals: string[] = []; // calls that a block refused
  readonly kinds: readonly FaultKind[];
  reveals = 0;
  commits = 0;
  readonly #world: WeightPathWorld;
  readonly #faults: WeightPathFaults;
  readonly #dice: (below: number) => number;
  readonly #revealPeriodEpochs: number;
  #due: Commit[] = []; // salted, not yet revealed
  #landed = 0; // in this epoch
  #blocked = new Set<number>(); // blocks of this epoch in which something was in the way
  #revealed = 0;
  #round = 0;
  #scores: Record<string, number> = {};

  private constructor(world: WeightPathWorld, of: {
    kinds: readonly FaultKind[];
    dice: (below: number) => number;
    tempoBlocks: number;
    mode: Mode;
    revealPeriodEpochs: number;
  }) {
    const { kinds, dice, tempoBlocks, mode, revealPeriodEpochs } = of;
    this.#world = world;
    this.#dice = dice;
    this.kinds = kinds;
    this.#revealPeriodEpochs = revealPeriodEpochs;
    this.#faults = new WeightPathFaults({ world, kinds, dice, tempoBlocks }, mode);
  }

  static async run(options: WeightPathOptions, epochs: number): Promise<WeightPathSim> {
    const dice = prngOf(options.seed * 7_919);
    const mode = (["plain", "salted", "timelocked"] as const)[options.seed % 3]!;
    const tempoBlocks = 20 + dice(21);
    const revealPeriodEpochs = 1 + dice(2);
    const drawn = faultKinds.filter(() => dice(2) === 0);
    const world = await WeightPathWorld.open(options.folder, {
      epochs: dice(2) === 0 ? "legacy" : "stateful",
      commitRevealVersion: mode === "salted" ? 3 : 4,
      hyperparameters: {
        ...{ tempoBlocks, revealPeriodEpochs, isCommitReveal: mode !== "plain", weightsRateLimitBlocks: 3 },
        ...{ weightsVersionKey: ourVersionKey, maxUids: miners.length + 2, immunityPeriodBlocks: 0 },
        ...{ emissionPerBlockRao: 0n, burnIncreasePercent: 0 }, // nobody earns: the oldest neuron is replaced first
      },
    });
    try {
      const kinds = options.kinds ?? drawn;
      const sim = new WeightPathSim(world, { kinds, dice, tempoBlocks, mode, revealPeriodEpochs });
      await sim.#populate();
      while (sim.epochs.length < epochs) await sim.#block();
      await sim.#recover();
      return sim;
    } finally {
      await world.close();
    }
  }

  async #populate(): Promise<void> {
    const world = this.#world;
    world.register(validator.address);
    await world.block();
    world.pay({ type: "addStake", netuid, hotkey: validator.address, amountRao: stakeRao });
    for (const miner of miners) world.register(miner);
    await world.block();
    world.start();
  }

  async #block(isFaulty = true): Promise<void> {
    const world = this.#world;
    if (isFaulty) await this.#faults.draw();
    if (this.#round === 0 || (isFaulty && this.#dice(6) === 0)) this.#score();
    const { block, calls } = await world.block();
    this.#followSeat(block.number);
    if (world.ledger.eventsOf(block.number).some(({ type }) => type === "epochRan")) this.#closeEpoch(block.number);
    if (block.number <= this.#faults.blockedUntil) this.#blocked.add(block.number);
    for (const call of calls) this.#count(call, block.number);
  }

  /** The currently registered; later ones get nothing before the next scores. */
  #score(): void {
    const { state } = this.#world.ledger;
    const { neuronCount } = state.get("subnet", keyOf(netuid));
    const scored = Array.from({ length: neuronCount - 1 }, (_, i) => state.get("neuron", keyOf(netuid, i + 1)).hotkey)
      .map((hotkey) => [encodeAddress(Uint8Array.fromHex(hotkey)), 1 + this.#dice(1_000)] as const)
      .filter(([hotkey]) => hotkey !== validator.address);
    this.#scores = Object.fromEntries(scored);
    this.#world.score(++this.#round, this.#scores);
  }

  /** Without a permit nothing can land; a hotkey that lost its seat registers again, and gets its permit from an epoch. */
  #followSeat(block: number): void {
    const world = this.#world;
    const uid = world.uid();
    if (uid === null) world.register(validator.address);
    const hasPermit = uid !== null && world.ledger.state.get("neuron", keyOf(netuid, uid)).hasPermit;
    if (hasPermit) return;
    this.#faults.blockedUntil = Math.max(this.#faults.blockedUntil, block);
    this.#faults.changedBlock = block;
  }

  #count({ call, error }: OwnCall, block: number): void {
    if (call.type === "serveAxon") return;
    if (error !== null) this.refusals.push(`${block} ${call.type} ${error}`);
    else if (call.type === "revealWeights") {
      this.reveals += 1;
      this.#revealed += 1;
    } else {
      this.#landed += 1;
      if (call.type !== "commitWeights") return;
      this.commits += 1;
      this.#due.push({ block, dueEpoch: this.epochs.length + this.#revealPeriodEpochs });
    }
  }

  #closeEpoch(endBlock: number): void {
    const landed = this.#landed, revealed = this.#revealed;
    const isExcused = !this.#hadTime(endBlock);
    assert(landed <= 1, `${landed} calls landed in the epoch before block ${endBlock}`);
    assert(isExcused || landed === 1, `the window before block ${endBlock} was missed: ${this.#world.health()}`);
    assert(this.reveals <= this.commits, "no commit is revealed twice");
    const due = this.#due.filter(({ dueEpoch }) => dueEpoch === this.epochs.length);
    this.#due = this.#due.filter(({ dueEpoch }) => dueEpoch > this.epochs.length);
    const needed = due.filter(({ block }) => block > this.#faults.changedBlock).length;
    assert(
      isExcused || revealed >= needed,
      `a commit was not revealed in the epoch before block ${endBlock}: ${this.#world.health()}`,
    );
    this.epochs.push({ endBlock, landed, isExcused });
    this.#landed = this.#revealed = 0;
    this.#blocked.clear();
  }

  /**
   * Whether the window of the epoch that ends here had enough blocks without anything in the way, one after the other.
   * Where a new tempo was not yet looked at, the window was somewhere else.
   */
  #hadTime(endBlock: number): boolean {
    const { state } = this.#world.ledger;
    const { movedUntil } = this.#faults;
    const beginBlock = this.epochs.at(-1)?.endBlock ?? 0;
    const { tempoBlocks } = state.get("subnet", keyOf(netuid)).hyperparameters;
    const windowBlock = endBlock - leadBlocks(tempoBlocks, validator.address);
    let free = 0;
    for (let block = Math.max(beginBlock, windowBlock, movedUntil + 1); block < endBlock; block++) {
      free = this.#blocked.has(block) ? 0 : free + 1;
      if (free === workBlocks) return true;
    }
    return false;
  }

  /** After the last fault: no epoch is left out, and what is stored in the end is what the scores say. */
  async #recover(): Promise<void> {
    const world = this.#world;
    this.#faults.stop();
    if (!world.isAlive) world.start();
    await this.#block(false);
    this.#score();
    const epochs = 2 + this.#revealPeriodEpochs;
    const isFree = () => world.ledger.head().number > Math.max(this.#faults.blockedUntil, this.#faults.movedUntil);
    while (!isFree()) await this.#block(false);
    // The epoch under way, and then those that must be clean.
    for (const until = this.epochs.length + 1 + epochs; this.epochs.length < until;) await this.#block(false);
    const calm = this.epochs.slice(-epochs);
    assert(calm.every(({ isExcused, landed }) => !isExcused && landed === 1), "every epoch after the faults is clean");
    const { state } = world.ledger;
    const most = Math.max(...Object.values(this.#scores));
    const expected = Object.entries(this.#scores).flatMap(([hotkey, score]) => {
      const uid = uidOf(state, netuid, hotkeyHex(hotkey));
      return uid === null ? [] : [[uid, Math.round((65_535 * score) / most)] as const];
    });
    const stored = world.row().filter(([, value]) => value > 0);
    const near = new Map(stored);
    assertEquals(stored.length, expected.length, "as many weights as scores");
    for (const [uid, value] of expected) {
      assert(Math.abs((near.get(uid) ?? 0) - value) <= 1, `uid ${uid} has ${near.get(uid)}, its score says ${value}`);
    }
  }
}

const hotkeyHex = (address: string): string => decodeAddress(address)!.toHex();
