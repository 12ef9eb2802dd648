/**
 * One simulation from options to result: faults for a number of virtual minutes (safety must hold), then none (the run must
 * progress), then the end (nothing may be left over).
 *
 * The same options give the same result on any machine, wall time and heap aside.
 */

import type { LinkShape } from "../../../cli/swarm/chaos/link_shape.ts";
import { orchestrator } from "../../../core/orchestrator/machine.ts";
import { Dice } from "./dice.ts";
import { drawKinds, type FaultKind, Faults } from "./faults.ts";
import { mustEndClean, strayBlobs } from "./checks/final_check.ts";
import type { OrchestratorMachine } from "../../../cli/orchestrator/hub/hub_runtime.ts";
import { shapeOf } from "./swarm_shape.ts";
import { must, Violation } from "./checks/violation.ts";
import { SimulatedSwarm } from "./simulated_swarm.ts";

export interface SimOptions {
  readonly seed: number;
  readonly miners: number;
  readonly minutes: number; // virtual
  readonly faults: readonly FaultKind[] | "drawn";
  readonly forwardMs?: number; // of the median miner; drawn when it is not given
  readonly links?: LinkShape; // of every node alike; drawn when they are not given
  readonly machine?: OrchestratorMachine; // the production one unless a measurement brings another
}

export interface SimSummary {
  readonly seed: number;
  readonly miners: number;
  readonly minutes: number;
  readonly stages: number;
  readonly faults: readonly FaultKind[];
  readonly strikes: number;
  readonly events: number;
  readonly virtualMs: number;
  readonly wallMs: number;
  readonly eventsPerSecond: number;
  readonly steps: number;
  readonly rounds: number;
  readonly microbatchesIssued: number;
  readonly microbatchesCredited: number;
  readonly microbatchesLost: number;
  readonly reLeases: number;
  readonly tasks: number; // accepted
  readonly duplicateShare: number; // of computed tasks that were not accepted
  readonly utilisation: number; // share of time that miners' devices are busy
  readonly pipelineBound: number; // M / (M + K - 1), M microbatches a replica
  readonly nodesLost: number;
  readonly tasksKept: number; // committed by miners that were lost before the step closed
  readonly nodesJoined: number;
  readonly crashes: number;
  readonly recoveredMs: number | null; // slowest, from the crash to the next accepted task
  readonly peakBlobs: number;
  readonly strayBlobs: number; // stored at the end and named by nothing
  readonly violations: number;
  readonly peakHeapBytes: number;
}

export interface SimFailure {
  readonly rule: string;
  readonly detail: string;
  readonly virtualMs: number;
  readonly faults: readonly FaultKind[];
  readonly cause: unknown;
}

export type SimResult =
  | { readonly ok: true; readonly summary: SimSummary }
  | { readonly ok: false; readonly failure: SimFailure };

const minuteMs = 60_000;
const roundsAfterwards = 2;
const livelyWithinMs = 60 * minuteMs;
const newcomersEveryMs = minuteMs;
const turnEvents = 1_000;

export function kindsOf({ seed, faults }: Pick<SimOptions, "seed" | "faults">): readonly FaultKind[] {
  return faults === "drawn" ? drawKinds(new Dice(seed, "kinds")) : faults;
}

export const simulate = (options: SimOptions): SimResult => atOnce(simulateInTurns(options));

export function atOnce<T>(turns: Generator<number, T>): T {
  for (;;) {
    const { done, value } = turns.next();
    if (done) return value;
  }
}

/** The same in turns of a few milliseconds, so that the caller can do other work in between, or stop. */
export function* simulateInTurns(options: SimOptions): Generator<number, SimResult> {
  const kinds = kindsOf(options);
  const simulation = new Simulation(options, kinds);
  try {
    return { ok: true, summary: yield* simulation.run() };
  } catch (error) {
    // A broken rule is what a simulation is for: it becomes the result, with the error inside.
    const rule = error instanceof Violation ? error.rule : "a machine's own assertion";
    const detail = error instanceof Error ? error.message : String(error);
    return { ok: false, failure: { rule, detail, virtualMs: simulation.world.nowMs, faults: kinds, cause: error } };
  }
}

class Simulation {
  readonly world: SimulatedSwarm;
  readonly #options: SimOptions;
  readonly #kinds: readonly FaultKind[];
  readonly #faults: Faults;
  #peakHeapBytes = 0;
  #strayBlobs = 0;
  #looks = 0;

  constructor(options: SimOptions, kinds: readonly FaultKind[]) {
    const { seed, miners, machine = orchestrator, links } = options;
    this.#options = options;
    this.#kinds = kinds;
    this.world = new SimulatedSwarm({
      ...{ seed, miners, machine, shape: shapeOf(options), keepsJournal: kinds.includes("crash") },
      ...(links === undefined ? {} : { links }),
    });
    this.#faults = new Faults({ world: this.world, seed, kinds, miners });
  }

  *run(): Generator<number, SimSummary> {
    const startedMs = performance.now();
    const { world } = this;
    const untilMs = this.#options.minutes * minuteMs;
    this.#faults.start();
    yield* this.#runUntil(() => this.#watchHeap(), untilMs);
    this.#faults.stop();
    yield* this.#mustLive();
    this.#strayBlobs = strayBlobs(world);
    mustEndClean(world);
    return this.#summary(performance.now() - startedMs);
  }

  /** As `SimulatedSwarm.runUntil`, in turns. */
  *#runUntil(isDone: () => boolean, untilMs: number): Generator<number, boolean> {
    let left = turnEvents;
    let isPausing = false;
    const look = () => {
      if (isPausing) return isPausing = false; // before the same event as when the turn ended
      if (isDone()) return true;
      left -= 1;
      return isPausing = left < 0;
    };
    for (;;) {
      const isOver = this.world.runUntil(look, untilMs);
      if (!isPausing) return isOver;
      yield this.world.nowMs;
      left = turnEvents;
    }
  }

  /** Without faults at least two more rounds must merge. */
  *#mustLive(): Generator<number, void> {
    const { world } = this;
    const { checkers } = world;
    const fromMs = world.nowMs;
    const wanted = checkers.rounds + roundsAfterwards;
    const isLively = () => checkers.rounds >= wanted || this.#watchHeap();
    let helpAtMs = fromMs;
    while (!(yield* this.#runUntil(isLively, helpAtMs))) {
      must(
        world.nowMs - fromMs < livelyWithinMs && helpAtMs - fromMs < livelyWithinMs,
        "the run goes on when faults stop",
        () => `${checkers.rounds} of ${wanted} rounds after ${(world.nowMs - fromMs) / minuteMs} minutes`,
      );
      this.#coverStages();
      helpAtMs += newcomersEveryMs;
    }
  }

  /** Stages that every miner has left get newcomers. */
  #coverStages(): void {
    const { world } = this;
    const covered = new Set<number>();
    for (const miner of world.miners.all) {
      const stage = world.hub.state.members.get(miner.node)?.stage ?? null;
      if (stage !== null && world.network.isConnected(miner.node)) covered.add(stage);
    }
    for (const spec of world.shape.stages) {
      if (covered.has(spec.index)) continue;
      world.addMiner();
      world.addMiner();
    }
  }

  /** Never done: a hook to sample the heap periodically. */
  #watchHeap(): false {
    if ((this.#looks++ & 0xffff) === 0) {
      this.#peakHeapBytes = Math.max(this.#peakHeapBytes, Deno.memoryUsage().heapUsed);
    }
    return false;
  }

  #summary(wallMs: number): SimSummary {
    const { world } = this;
    const { checkers, hub, shape: { config } } = world;
    const { seed, miners, minutes } = this.#options;
    const { counters } = hub.state;
    const stages = config.pipeline.stages;
    const perReplica = config.train.microbatchesPerStep / Math.max(1, miners / stages);
    const events = this.#looks;
    return {
      seed,
      miners,
      minutes,
      stages,
      faults: this.#kinds,
      strikes: this.#faults.strikes,
      events,
      virtualMs: world.nowMs,
      wallMs: Math.round(wallMs),
      eventsPerSecond: Math.round(events / (wallMs / 1000)),
      steps: checkers.steps,
      rounds: checkers.rounds,
      microbatchesIssued: counters.microbatchesIssued,
      microbatchesCredited: counters.microbatchesCredited,
      microbatchesLost: 0, // or `mustEndClean` had thrown
      reLeases: counters.reLeases,
      tasks: checkers.accepted,
      duplicateShare: checkers.computed === 0 ? 0 : 1 - checkers.accepted / checkers.computed,
      utilisation: world.busyShare(),
      pipelineBound: perReplica / (perReplica + stages - 1),
      nodesLost: checkers.nodesLost,
      tasksKept: checkers.tasksKept,
      nodesJoined: checkers.nodesJoined,
      crashes: this.#faults.crashes,
      recoveredMs: checkers.slowestRecoveryMs,
      peakBlobs: world.blobs.peak,
      strayBlobs: this.#strayBlobs,
      violations: 0,
      peakHeapBytes: this.#peakHeapBytes,
    };
  }
}
