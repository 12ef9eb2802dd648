/**
 * What the orchestrator machine costs and how well it fills a pipeline, in virtual time: production machines, simulated network
 * and compute (tests/lab/sim).
 *
 * The usual formula lets a step of M microbatches through K equal stages take M + K - 1 times what one microbatch costs a
 * stage, forward and gradient. Ours may be a little faster: the last stage repeats no forward. The strict bound is the slowest
 * stage's work. The difference to it is spent on filling the pipeline, wiring, sealing and one millisecond of latency.
 */

import { orchestrator } from "../../../core/orchestrator/machine.ts";
import { type SimSummary, simulate } from "../sim/simulate.ts";
import { pipelineShape } from "../sim/swarm_shape.ts";
import { SimulatedSwarm } from "../sim/simulated_swarm.ts";

export interface PipelineCase {
  readonly stagePaces: readonly number[]; // a stage's time as a multiple of the fastest
  readonly microbatches: number;
}

export interface PipelineResult extends PipelineCase {
  readonly stepMs: number; // mean, virtual
  readonly shareOfFormula: number; // its step over ours
  readonly slowestBusyShare: number; // of the step, the slowest stage
}

const forwardMs = 1000;
const unitsOfMicrobatch = 4; // forward, then a gradient task of three: cost at every stage but the last
const steps = 4;
const startWithinMs = 600_000;

export function measurePipeline({ stagePaces, microbatches }: PipelineCase): PipelineResult {
  const shape = pipelineShape({ microbatches, replicas: 1, forwardMs, stagePaces });
  const world = new SimulatedSwarm({
    seed: 1,
    miners: stagePaces.length,
    shape,
    machine: orchestrator,
    keepsJournal: false,
  });
  const until = (step: number) => {
    const stepsMs = startWithinMs + step * microbatches * stagePaces.length * 40 * forwardMs;
    if (!world.runUntil(() => world.hub.state.step >= step, stepsMs)) throw new Error(`step ${step} was not reached`);
    return world.nowMs;
  };
  const fromMs = until(1);
  const stepMs = (until(1 + steps) - fromMs) / steps;
  const slowest = Math.max(...stagePaces);
  const others = stagePaces.reduce((sum, pace) => sum + pace, 0) - slowest;
  const busyMs = unitsOfMicrobatch * forwardMs * microbatches * slowest;
  const formulaMs = busyMs + unitsOfMicrobatch * forwardMs * others;
  const shareOfFormula = formulaMs / stepMs;
  return { stagePaces, microbatches, stepMs, shareOfFormula, slowestBusyShare: busyMs / stepMs };
}

/** A big swarm under every kind of fault, on one core. */
export function measureSwarm({ miners, minutes }: { miners: number; minutes: number }): SimSummary {
  const result = simulate({ seed: 7, miners, minutes, faults: [] });
  if (!result.ok) throw new Error(result.failure.detail);
  return result.summary;
}
