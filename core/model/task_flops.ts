/**
 * The FLOPs of a task by its stage and direction, by which miners are paid.
 *
 * Owns the count and its unit. A forward costs what stages.ts counts. A backward costs twice that, since each product
 * has two gradients; a turnaround is a forward and a backward. The loss costs next to nothing, like activations and
 * norms, and is not counted. A forward repeated before its backward is not counted either: the run does not require it,
 * it only saves the miner memory (`--activation-mib`). So a microbatch is worth three forwards in every stage. The
 * split of the layers (stages.ts) and the expected time of a task (`forwardsOf` in orchestrator/step/step_state.ts) do
 * count the repeat, because they must suit a device without room for activations.
 *
 * One unit is a forward of the mean stage. Units are multiples of 2^-16, so sums and differences of them are exact in
 * any order up to 10^11 units, and the same on every machine.
 */

import { present } from "../assert.ts";
import type { Direction } from "../ids.ts";
import { stageFlopsPerToken, type StageShape } from "./stages.ts";

const forwards: Readonly<Record<Direction, number>> = { forward: 1, backward: 2, turnaround: 3 };

const partsOfUnit = 2 ** 16;

/** Units of one forward, of each stage of a model. */
export function forwardUnits(stages: readonly StageShape[]): number[] {
  const flops = stages.map((stage) => stageFlopsPerToken(stage).forward);
  const mean = flops.reduce((sum, each) => sum + each, 0) / flops.length;
  return flops.map((each) => Math.max(1, Math.round(partsOfUnit * each / mean)) / partsOfUnit);
}

/** Units of one task, by the units of each stage's forward. */
export function taskUnits(
  ofForwards: readonly number[],
  { stage, direction }: { stage: number; direction: Direction },
): number {
  return forwards[direction] * present(ofForwards[stage], "every stage has a cost");
}
