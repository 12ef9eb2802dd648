/**
 * The seeds of the big simulations, shared out over test files: files run side by side, tests of one file do not.
 *
 * SEEDS=n runs n seeds (default 64), SEED=n replays one, MINERS and MINUTES change their size. A failure prints the line that
 * replays it.
 */

import { replayLine } from "../../lab/sim/run_sim.ts";
import { type SimOptions, type SimSummary, simulate } from "../../lab/sim/simulate.ts";

const number = (name: string, otherwise: number) => Number(Deno.env.get(name) ?? otherwise);
const miners = number("MINERS", 256);
const minutes = number("MINUTES", 1);
const forwardMs = 60; // short tasks: several rounds in a minute
const perTest = 8; // seeds
const only = Deno.env.get("SEED");
const seeds = only === undefined ? Array.from({ length: number("SEEDS", 64) }, (_, i) => i + 1) : [Number(only)];

/** Runs it and throws what it broke, with the line that replays it. */
export function pass(options: SimOptions): SimSummary {
  const result = simulate(options);
  if (result.ok) return result.summary;
  const { detail, faults, cause } = result.failure;
  throw new Error(`${detail}\nReplay: ${replayLine({ ...options, faults })}`, { cause });
}

/** Every `parts`-th seed from `part` on, as tests of the calling file. */
export function testSeeds({ part, parts }: { part: number; parts: number }): void {
  const own = seeds.filter((_, i) => i % parts === part);
  for (let first = 0; first < own.length; first += perTest) {
    const batch = own.slice(first, first + perTest);
    Deno.test(`Swarm: ${miners} miners live through the faults of seeds ${batch.join(", ")}`, () => {
      for (const seed of batch) pass({ seed, miners, minutes, forwardMs, faults: "drawn" });
    });
  }
}
