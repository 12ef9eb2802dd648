/**
 * A validator left running for fifty epochs: keeper, client, sockets, node and ledger, with whole kinds of faults switched on and off.
 *
 * Never two calls of ours in one epoch; no window missed that was clean at its end; each salted commit revealed once; when the faults
 * are over every epoch has its weights, and the row in storage is what the scores say. SEEDS=n runs n / 50 seeds, as one takes as
 * long as fifty of a swarm; SEED=n replays one, KINDS=cut,outage chooses the faults.
 */

import { assert } from "@std/assert";
import { withScratchFolder } from "../support/scratch_folder.ts";
import type { FaultKind } from "../support/chain/weight_path_faults.ts";
import { WeightPathSim } from "../support/chain/weight_path_sim.ts";

const epochs = 50;
const only = Deno.env.get("SEED");
const kindsText = Deno.env.get("KINDS");
const seeds = only === undefined
  ? Array.from({ length: Math.max(2, Math.round(Number(Deno.env.get("SEEDS") ?? 0) / 50)) }, (_, i) => i + 1)
  : [Number(only)];
const kinds = kindsText?.split(",").filter((kind) => kind !== "") as FaultKind[] | undefined;

async function pass(seed: number): Promise<void> {
  await withScratchFolder(async (folder) => {
    try {
      const sim = await WeightPathSim.run({ seed, folder, ...(kinds === undefined ? {} : { kinds }) }, epochs);
      const excused = sim.epochs.filter(({ isExcused }) => isExcused).length;
      assert(excused < sim.epochs.length, "the world excuses everything");
    } catch (error) {
      const replay = `SEED=${seed} make one FILE=tests/sim/weight_path_sim_test.ts`;
      throw new Error(`seed ${seed}: ${(error as Error).message}\nReplay: ${replay}`, { cause: error });
    }
  });
}

for (const seed of seeds) {
  Deno.test(`Weight path: fifty epochs with the faults of seed ${seed}`, () => pass(seed));
}
