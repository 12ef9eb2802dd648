/** Runs a simulation in a test: throws what it broke, with the line that replays it. */

import { replayLine } from "../../lab/sim/replay_line.ts";
import { type SimOptions, type SimSummary, simulate } from "../../lab/sim/simulate.ts";

export function pass(options: SimOptions): SimSummary {
  const result = simulate(options);
  if (result.ok) return result.summary;
  const { detail, faults, cause } = result.failure;
  throw new Error(`${detail}\nReplay: ${replayLine({ ...options, faults })}`, { cause });
}
