/**
 * One simulated swarm: the orchestrator, its nodes, the network between them, and the checkers that watch.
 *
 * Owns the set of live processes. Everything happens in one thread in the order of the event queue, so the same options give
 * the same run. `World` (tests/lab/world) has the links, the numbers and the whole roles that are left out here: at a thousand
 * miners a task costs it 2.7 times as much, and only digests say whether a gradient is over exactly the tasks that count.
 */

import { type BlobRef, type NodeId, nodeId, type StageIndex } from "../../../core/ids.ts";
import { mayRead } from "../../../core/orchestrator/access.ts";
import type { LinkShape } from "../../../cli/swarm/chaos/link_shape.ts";
import { BlobSet } from "./processes/blob_set.ts";
import { Checkers } from "./checks/checkers.ts";
import { Crowd } from "./crowd.ts";
import { Dice } from "./dice.ts";
import { EventQueue } from "../world/event_queue.ts";
import type { OrchestratorMachine } from "../../../cli/orchestrator/hub/hub_runtime.ts";
import { HubProcess } from "./processes/hub_process.ts";
import { MemoryJournal } from "./processes/memory_journal.ts";
import { MinerProcess } from "./processes/miner_process.ts";
import { Network } from "./network/network.ts";
import type { NodeProcess, NodeServices } from "./processes/node_process.ts";
import { QueueTimers } from "../world/queue_timers.ts";
import type { SwarmShape } from "./swarm_shape.ts";
import { ValidatorProcess } from "./processes/validator_process.ts";

export interface SimulatedSwarmOptions {
  readonly seed: number;
  readonly miners: number;
  readonly shape: SwarmShape;
  readonly machine: OrchestratorMachine;
  readonly keepsJournal: boolean;
  readonly links?: LinkShape; // of every node alike. @default as the shape says, else drawn
}

const startWithinMs = 5000; // nodes of a swarm do not start in one instant

const mostEncoded = 256; // miners whose events a simulated journal keeps as bytes

const mostReadsAsked = 16; // of the blobs of one reduction whether they may be read: thousands of replicas have thousands

export class SimulatedSwarm {
  readonly queue = new EventQueue();
  readonly network: Network;
  readonly blobs = new BlobSet();
  readonly checkers: Checkers;
  readonly hub: HubProcess;
  readonly shape: SwarmShape;
  readonly dishonest = new Set<NodeId>();
  readonly #services: NodeServices;
  readonly miners = new Crowd<MinerProcess>();
  readonly validators = new Crowd<ValidatorProcess>();
  #named = 0;
  #pastBusyMs = 0; // of miners that are gone
  #pastLifeMs = 0;

  constructor(options: SimulatedSwarmOptions) {
    const { seed, miners, shape, machine, keepsJournal, links = shape.equal?.links } = options;
    this.shape = shape;
    const { queue, blobs } = this;
    this.network = new Network({
      queue,
      seed,
      sessionKeepMs: shape.config.limits.disconnectGraceMs,
      ...(links === undefined ? {} : { links }),
    });
    this.checkers = new Checkers({
      shape,
      miners,
      nowMs: () => queue.nowMs,
      hubState: () => this.hub.state,
      isHonest: (node) => !this.dishonest.has(node),
    });
    const { network, checkers: watch } = this;
    this.#services = {
      shape,
      queue,
      timers: new QueueTimers(queue),
      network,
      blobs,
      missing: (node, refs) => {
        const everyNth = Math.ceil(refs.length / mostReadsAsked);
        const isRefused = ({ hash }: BlobRef, i: number) =>
          i % everyNth === 0 && !mayRead(this.hub.state, { node, hash });
        return refs.find((ref, i) => !blobs.has(ref) || isRefused(ref, i)) ?? null;
      },
      watch,
      seed,
      ended: (process) => this.#ended(process),
    };
    this.hub = new HubProcess({
      shape,
      queue,
      network,
      blobs,
      watch,
      machine,
      journal: keepsJournal ? new MemoryJournal({ encodes: miners <= mostEncoded }) : null,
      dice: new Dice(seed, "hub"),
    });
    const dice = new Dice(seed, "start");
    for (let i = 0; i < miners; i++) queue.after(dice.between(0, startWithinMs), () => this.addMiner());
    for (let i = 0; i < shape.config.swarm.validators; i++) {
      queue.after(dice.between(0, startWithinMs), () => this.addValidator());
    }
  }

  get nowMs(): number {
    return this.queue.nowMs;
  }

  /** `slowForMs`: how long it computes, and so loads, ten times slower. */
  addMiner({ slowForMs = 0 } = {}): void {
    const miner = new MinerProcess(nodeId(`miner-${++this.#named}`), this.#services, { previousStage: null });
    if (slowForMs > 0) miner.slowDownFor(slowForMs);
    this.#start(miner);
    if (slowForMs > 0) this.network.slow(miner.node, slowForMs);
  }

  /** A new process, which may be behind a known hotkey. */
  startMiner(node: NodeId, previousStage: StageIndex | null): void {
    this.#start(new MinerProcess(node, this.#services, { previousStage }));
  }

  addValidator(): void {
    this.#start(new ValidatorProcess(nodeId(`validator-${++this.#named}`), this.#services));
  }

  /** From now on this hotkey's behaviour does not count against the machines. */
  corrupt(process: NodeProcess): void {
    process.isHonest = false;
    this.dishonest.add(process.node);
  }

  /** Runs until a condition holds or time is up; returns whether it held. */
  runUntil(isDone: () => boolean, untilMs: number): boolean {
    while (!isDone()) {
      if (this.queue.nextMs > untilMs) return false;
      this.queue.runNext();
    }
    return true;
  }

  /** Share of their lives that miners' devices were busy. */
  busyShare(): number {
    const { all } = this.miners;
    const busyMs = all.reduce((sum, each) => sum + each.busyMs, this.#pastBusyMs);
    const lifeMs = all.reduce((sum, each) => sum + this.nowMs - each.bornMs, this.#pastLifeMs);
    return lifeMs === 0 ? 0 : busyMs / lifeMs;
  }

  #start(process: MinerProcess | ValidatorProcess): void {
    if (this.dishonest.has(process.node)) process.isHonest = false;
    if (process instanceof MinerProcess) this.miners.add(process);
    else this.validators.add(process);
    this.network.start(process);
  }

  #ended(process: NodeProcess): void {
    if (process instanceof ValidatorProcess) this.validators.remove(process);
    if (!(process instanceof MinerProcess)) return;
    this.miners.remove(process);
    this.#pastBusyMs += process.busyMs;
    this.#pastLifeMs += this.nowMs - process.bornMs;
  }
}
