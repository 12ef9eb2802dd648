/**
 * The FLOPs of a task, by which miners are paid.
 *
 * A forward costs what stages.ts counts, a backward twice that (each product has two gradients), a turnaround both.
 * Loss, activations and norms cost next to nothing. A repeated forward is not paid, because it only saves the miner
 * memory (`--activation-mib`).
 *
 * One unit is a forward of the mean stage. Units are multiples of 2^-16, so sums and differences are exact in any order
 * up to 10^11 units.
 */

import { present } from "../assert.ts";
import type { Direction } from "../ids.ts";
import { stageFlopsPerToken, type StageShape } from "./stages.ts";

const forwards: Readonly<Record<Direction, number>> = { forward: 1, backward: 2, turnaround: 3 };

const partsOfUnit = 2 ** 16;

/** For each stage. */
export function forwardUnits(stages: readonly StageShape[]): number[] {
  const flops = stages.map((stage) => stageFlopsPerToken(stage).forward);
  const mean = flops.reduce((sum, each) => sum + each, 0) / flops.length;
  return flops.map((each) => Math.max(1, Math.round(partsOfUnit * each / mean)) / partsOfUnit);
}

/** `ofForwards`: units of each stage's forward. */
export function taskUnits(
  ofForwards: readonly number[],
  { stage, direction }: { stage: number; direction: Direction },
): number {
  return forwards[direction] * present(ofForwards[stage], "every stage has a cost");
}
