/**
 * What goes wrong in a simulated swarm, and when.
 *
 * Owns the kinds. The seed switches each kind on or off unless the command line names them: a run without, say, restarts
 * reaches states that one with everything at once never does. Each kind strikes at its own random times, more often in a larger
 * swarm, so omitting one kind barely affects the others: that lets a failure shrink. Faults of the frame level (loss, doubling,
 * reordering) show as `cut`. A node's clock has no kind: no node machine reads one.
 */

import { unreachable } from "../../../core/assert.ts";
import { Dice } from "./dice.ts";
import type { UploadRefusal } from "./processes/blob_set.ts";
import { staleMessage } from "./processes/garbage.ts";
import type { MinerProcess } from "./processes/miner_process.ts";
import { lies } from "./processes/symbolic_stage.ts";
import type { SimulatedSwarm } from "./simulated_swarm.ts";

export const faultKinds = [
  "kill", // a miner's process is gone for good
  "restart", // gone, and back under the same hotkey with an empty memory
  "leave", // ends of its own accord
  "join", // a newcomer
  "cut", // its link breaks
  "partition", // one direction of its link passes nothing
  "slowLink", // a fiftieth of its bandwidth
  "straggler", // computes ten times slower
  "stuck", // computes nothing, link healthy
  "sleep", // a closed laptop: ten minutes of nothing
  "slowDisk", // checkpoints take minutes
  "fullDisk", // checkpoints fail
  "blobLoss", // stored blobs vanish, at times the last checkpoint with them
  "liar", // wrong results of the right size
  "badResult", // wrong sizes, non-finite numbers
  "flood", // bursts of stale messages
  "validator", // validators come and go
  "crash", // the orchestrator is killed and restarted
  "dismiss", // a miner loses its place in the subnet
  "refusedUploads", // a proxy before one miner, or before the orchestrator, answers 413 to uploads
  "skewedClocks", // the same with 401, as the clocks of the two sides differ by an hour
  "slowNewcomer", // a newcomer that takes minutes to load its stage
] as const;

export type FaultKind = typeof faultKinds[number];

/** Faults that a miner survives. */
type Disturbance = Extract<
  FaultKind,
  "cut" | "partition" | "slowLink" | "straggler" | "stuck" | "liar" | "badResult" | "flood"
>;

export function isFaultKind(text: string): text is FaultKind {
  return faultKinds.some((kind) => kind === text);
}

/** Each kind by the toss of a coin. */
export function drawKinds(dice: Dice): FaultKind[] {
  return faultKinds.filter(() => dice.below(2) === 1);
}

const sleepMs = 600_000;
const smallestShare = 0.5; // of the first miners that stay alive and awake
const liarShare = 0.1;
const lostShares = [0.02, 0.1, 0.5, 1]; // of all stored blobs
const firstCrashMs = 20_000;
const crashGapMs = 60_000; // as often as in a small swarm: every crash loses what its miners were computing

export class Faults {
  readonly #world: SimulatedSwarm;
  readonly #kinds: readonly FaultKind[];
  readonly #seed: number;
  readonly #firstMiners: number;
  readonly #meanGapMs: number;
  #isOver = false;
  #asleep = 0;
  #nextCrashMs = firstCrashMs;
  crashes = 0;
  strikes = 0;

  constructor(options: { world: SimulatedSwarm; seed: number; kinds: readonly FaultKind[]; miners: number }) {
    this.#world = options.world;
    this.#seed = options.seed;
    this.#kinds = options.kinds;
    this.#firstMiners = options.miners;
    this.#meanGapMs = 60_000 / Math.max(1, options.miners / 128);
  }

  start(): void {
    for (const kind of this.#kinds) this.#strikeLater(kind, new Dice(this.#seed, `fault ${kind}`));
  }

  /** Ends all current faults and strikes no more. */
  stop(): void {
    this.#isOver = true;
    const { network, hub } = this.#world;
    network.heal();
    hub.ownWork.disk = "fine";
    this.#world.blobs.refusal = null;
    for (const miner of this.#world.miners.all) {
      miner.recover();
      miner.stage.lie = null;
    }
  }

  #strikeLater(kind: FaultKind, dice: Dice): void {
    this.#world.queue.after(2 * this.#meanGapMs * dice.unit(), () => {
      if (this.#isOver) return;
      this.strikes += 1;
      this.#strike(kind, dice);
      this.#strikeLater(kind, dice);
    });
  }

  #strike(kind: FaultKind, dice: Dice): void {
    const { miners } = this.#world;
    const spare = miners.size - this.#asleep > smallestShare * this.#firstMiners;
    const miner = miners.pick(dice);
    switch (kind) {
      case "join":
        return this.#world.addMiner();
      case "slowNewcomer":
        return this.#world.addMiner({ slowForMs: dice.between(120_000, 600_000) });
      case "refusedUploads":
        return this.#refuseUploads(miner, { dice, refusal: { status: 413, clockMs: 0 } });
      case "skewedClocks":
        return this.#refuseUploads(miner, { dice, refusal: { status: 401, clockMs: 3_600_000 } });
      case "slowDisk":
        return this.#diskFor("slow", dice.between(30_000, 90_000));
      case "fullDisk":
        return this.#diskFor("full", dice.between(10_000, 30_000));
      case "blobLoss":
        return this.#loseBlobs(dice);
      case "validator":
        return this.#changeValidators(dice);
      case "crash":
        return this.#crash(dice);
      case "kill":
        return spare ? miner?.kill() : undefined;
      case "dismiss":
        return spare && miner !== null ? this.#world.hub.dismiss(miner.node) : undefined;
      case "leave":
        return spare ? miner?.requestStop("its owner said so") : undefined;
      case "restart":
        return miner === null ? undefined : this.#restart(miner, dice);
      case "sleep":
        return spare && miner !== null ? this.#sleep(miner) : undefined;
      case "cut":
      case "partition":
      case "slowLink":
      case "straggler":
      case "stuck":
      case "liar":
      case "badResult":
      case "flood":
        return miner === null ? undefined : this.#disturb(miner, { kind, dice });
      default:
        return unreachable(kind);
    }
  }

  #disturb(
    miner: MinerProcess,
    options: { kind: Disturbance; dice: Dice },
  ): void {
    const { kind, dice } = options;
    const { network } = this.#world;
    const { node } = miner;
    const forMs = dice.between(2_000, 60_000);
    switch (kind) {
      case "cut":
        return network.cut(node);
      case "partition":
        return network.partition(node, { towards: dice.pick(["hub", "node"]), forMs });
      case "slowLink":
        return network.slow(node, forMs);
      case "straggler":
        return miner.slowDownFor(forMs);
      case "stuck":
        return miner.stickFor(forMs);
      case "liar":
        if (this.#world.dishonest.size >= liarShare * this.#firstMiners) return;
        this.#world.corrupt(miner);
        miner.stage.lie = dice.pick(lies);
        return;
      case "badResult":
        this.#world.corrupt(miner);
        return miner.spoilResults(dice.between(1, 4));
      case "flood":
        return this.#flood(miner, dice);
      default:
        return unreachable(kind);
    }
  }

  #flood(miner: MinerProcess, dice: Dice): void {
    this.#world.corrupt(miner);
    const { step, round, counters } = this.#world.hub.state;
    for (let left = dice.between(20, 100); left > 0; left--) {
      const { message, segments } = staleMessage(dice, { step, round, microbatch: counters.microbatchesIssued });
      miner.sendStale(message, segments);
    }
  }

  #restart(miner: MinerProcess, dice: Dice): void {
    const { node, state: { stage } } = miner;
    miner.kill();
    this.#world.queue.after(dice.between(1_000, 60_000), () => this.#world.startMiner(node, stage));
  }

  #sleep(miner: MinerProcess): void {
    this.#asleep += 1;
    miner.stickFor(sleepMs);
    this.#world.network.sleep(miner.node, sleepMs);
    this.#world.queue.after(sleepMs, () => this.#asleep -= 1);
  }

  #refuseUploads(
    miner: MinerProcess | null,
    { dice, refusal }: { dice: Dice; refusal: UploadRefusal },
  ): void {
    const forMs = dice.between(10_000, 120_000);
    if (dice.chance(0.5)) return miner?.refuseUploadsFor(forMs, refusal);
    const { blobs, queue } = this.#world;
    blobs.refusal = refusal;
    queue.after(forMs, () => blobs.refusal = null);
  }

  #diskFor(disk: "slow" | "full", forMs: number): void {
    const { hub, queue } = this.#world;
    hub.ownWork.disk = disk;
    queue.after(forMs, () => hub.ownWork.disk = "fine");
  }

  #loseBlobs(dice: Dice): void {
    const { blobs, hub } = this.#world;
    const share = dice.pick(lostShares);
    blobs.lose(() => dice.unit() < share);
    if (dice.chance(0.5)) hub.ownWork.loseCheckpoint();
  }

  #changeValidators(dice: Dice): void {
    const { validators } = this.#world;
    if (validators.size < 3 && dice.chance(0.5)) return this.#world.addValidator();
    validators.pick(dice)?.kill();
  }

  #crash(dice: Dice): void {
    const { hub, queue, checkers } = this.#world;
    if (hub.isDown || queue.nowMs < this.#nextCrashMs) return;
    this.#nextCrashMs = queue.nowMs + crashGapMs;
    this.crashes += 1;
    checkers.hubCrashed();
    hub.crash();
    queue.after(dice.between(500, 10_000), () => hub.restart());
  }
}
