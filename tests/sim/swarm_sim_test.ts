/**
 * Whole swarms in virtual time: the production machines under faults that the seed draws, with every rule of cli/sim checked.
 *
 * SEEDS=n runs n seeds (default 64), SEED=n replays one, MINERS and MINUTES change their size. A failure prints the line that
 * replays it.
 */

import { assert, assertEquals } from "@std/assert";
import { type FaultKind, faultKinds } from "../../cli/sim/faults.ts";
import { replayLine } from "../../cli/sim/run_sim.ts";
import { shrink } from "../../cli/sim/shrink.ts";
import { type SimOptions, type SimSummary, simulate } from "../../cli/sim/simulate.ts";
import { orchestrator } from "../../core/orchestrator/machine.ts";

const number = (name: string, otherwise: number) => Number(Deno.env.get(name) ?? otherwise);
const miners = number("MINERS", 256);
const minutes = number("MINUTES", 1);
const forwardMs = 60; // short tasks: several rounds in a minute
const perTest = 8; // seeds
const only = Deno.env.get("SEED");
const seeds = only === undefined ? Array.from({ length: number("SEEDS", 64) }, (_, i) => i + 1) : [Number(only)];

function pass(options: SimOptions): SimSummary {
  const result = simulate(options);
  if (result.ok) return result.summary;
  const { detail, faults, cause } = result.failure;
  throw new Error(`${detail}\nReplay: ${replayLine({ ...options, faults })}`, { cause });
}

for (let first = 0; first < seeds.length; first += perTest) {
  const batch = seeds.slice(first, first + perTest);
  Deno.test(`Swarm: ${miners} miners live through the faults of seeds ${batch.join(", ")}`, () => {
    for (const seed of batch) pass({ seed, miners, minutes, forwardMs, faults: "drawn" });
  });
}

Deno.test("Swarm: equal seeds give equal runs", () => {
  const run = () => {
    const { wallMs: _, eventsPerSecond: __, peakHeapBytes: ___, ...facts } = pass({
      seed: 3,
      miners: 24,
      minutes: 3,
      faults: faultKinds,
    });
    return facts;
  };
  assertEquals(run(), run());
});

Deno.test("Swarm: without faults nothing is done twice and nobody is lost", () => {
  const { duplicateShare, reLeases, nodesLost, rounds } = pass({ seed: 5, miners: 48, minutes: 4, faults: [] });
  assertEquals([duplicateShare, reLeases, nodesLost], [0, 0, 0]);
  assert(rounds >= 2);
});

for (const kind of faultKinds) {
  Deno.test(`Swarm: a run survives ${kind} alone`, () => {
    for (const seed of [1, 2, 3]) pass({ seed, miners: 24, minutes: 2, faults: [kind] });
  });
}

Deno.test("Swarm: a broken machine is found, and shrinks to a smaller run", () => {
  const kinds: FaultKind[] = ["kill", "cut", "join"];
  const options: SimOptions = {
    seed: 4,
    miners: 16,
    minutes: 2,
    faults: kinds,
    machine: {
      ...orchestrator,
      step(state, event, nowMs) {
        const effects = orchestrator.step(state, event, nowMs);
        return effects.filter((effect) => effect.type !== "release"); // leaks every wire
      },
    },
  };
  const result = simulate(options);
  assert(!result.ok && result.failure.rule === "no segment is held after the end");
  const smallest = shrink(options, result.failure);
  assertEquals(smallest.options.faults, []);
  assert(smallest.options.miners < options.miners);
});
