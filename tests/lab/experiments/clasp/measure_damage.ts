/**
 * What miners do to a loss, measured on a real model: trains one on the processor, lets two replicas of every stage train apart
 * for a round, and computes microbatches on honest paths and on paths with one cheating miner.
 *
 * Owns: the measurement. Out of scope: how many samples tell miners apart (simulate.ts).
 */

import { assert, present } from "../../../../core/assert.ts";
import { decodeWire, encodeWire, type Wire, wireIds } from "../../../../core/codec/wire.ts";
import { microbatchId } from "../../../../core/ids.ts";
import { taskOutput } from "../../../../core/model/stage_wires.ts";
import type { StageInput } from "../../../../gpu/compute.ts";
import type { Batch } from "../../../../cli/model/data/dataset.ts";
import { deviationOf } from "../sample_moments.ts";
import { openPath, type Path, type PathOptions, trainStep } from "../trained_path.ts";
import { type Attack, attacks } from "./attacks.ts";

/** Of microbatches; losses in mean nats per token. */
export interface Damage {
  readonly losses: readonly number[]; // on an honest path
  readonly replicaDeviation: number; // of one stage's replica against the other, on the same microbatch
  readonly pathDeviation: number; // of one whole path against the other
  readonly attacks: readonly { readonly name: string; readonly damages: readonly number[] }[]; // loss with it - loss without
}

export const measuredMicrobatches = 96;

export async function measureDamage(options: PathOptions): Promise<Damage> {
  const { config, batches, signal } = options;
  const { steps, stepsPerRound, microbatchesPerStep } = config.train;
  assert(stepsPerRound > 0, "Replicas must train apart for a round of a known length");
  const first = await openPath(options);
  const second = await openPath(options);
  try {
    for (let step = 0; step < steps; step++) {
      await trainStep(first, { ...options, step, from: step * microbatchesPerStep });
    }
    for (const [stage, replica] of second.entries()) {
      await replica.loadParameters(await first[stage]!.readParameters());
      await replica.loadOptimizer(await first[stage]!.readOptimizer());
    }
    let from = steps * microbatchesPerStep;
    for (let local = 0; local < stepsPerRound; local++) {
      for (const path of [first, second]) {
        await trainStep(path, { ...options, step: steps - 1, from });
        from += microbatchesPerStep;
      }
    }
    const measured = Array.from({ length: measuredMicrobatches }, (_, i) => batches.tokensOf(microbatchId(from + i)));
    return await measure({ first, second, measured, signal });
  } finally {
    for (const stage of [...first, ...second]) stage.close();
  }
}

async function measure(
  { first, second, measured, signal }: { first: Path; second: Path; measured: readonly Batch[]; signal: AbortSignal },
): Promise<Damage> {
  const cheat = first.length - 2; // a stage with a wire on both sides: run_clasp.ts refuses fewer than three
  const wire = present(taskOutput(first[cheat]!.spec, "forward"), "the cheat sends wires");
  const losses: number[] = [], byReplica: number[] = [], byPath: number[] = [];
  const damages = new Map(attacks.map(({ name }) => [name, [] as number[]]));
  for (const batch of measured) {
    signal.throwIfAborted();
    const honest = await lossOn(first, batch);
    losses.push(honest);
    byPath.push(await lossOn(second, batch) - honest);
    byReplica.push(await lossOn(first.with(cheat, second[cheat]!), batch) - honest);
    for (const attack of attacks) {
      const loss = await lossOn(first, batch, { stage: cheat, attack, wire });
      present(damages.get(attack.name), "every attack has its damages").push(loss - honest);
    }
  }
  return {
    losses,
    replicaDeviation: deviationOf(byReplica),
    pathDeviation: deviationOf(byPath),
    attacks: [...damages].map(([name, ofAttack]) => ({ name, damages: ofAttack })),
  };
}

interface Cheat {
  readonly stage: number;
  readonly attack: Attack;
  readonly wire: Wire;
}

async function lossOn(path: Path, { inputs, targets }: Batch, cheat: Cheat | null = null): Promise<number> {
  let input: StageInput = { type: "tokens", tokens: inputs };
  for (const [index, stage] of path.slice(0, -1).entries()) {
    const output = await stage.forward(input);
    input = { type: "wire", wire: cheat?.stage === index ? forged(cheat, input, output) : output };
  }
  const losses = await present(path.at(-1), "a path has a tail").evaluate(input, targets);
  return losses.reduce((sum, loss) => sum + loss, 0) / losses.length;
}

function forged({ attack, wire }: Cheat, input: StageInput, output: Uint8Array): Uint8Array {
  if (input.type !== "wire") return output;
  const values = attack.forge({ input: decodeWire(wire, input.wire), output: decodeWire(wire, output) });
  return encodeWire(wire, values, wireIds(wire, output));
}
