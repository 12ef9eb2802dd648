/**
 * How two audit rules judge the zoo on a trained model: the original's cosine and norm ratio, and the innovation error that this
 * program uses (core/score/innovation.ts).
 *
 * Owns the measurement, at a stage in the middle. Every claim goes through the wire's format first, as a miner's does.
 */

import { present } from "../../../core/assert.ts";
import { decodeWire, encodeWire, type Wire, wireRounding } from "../../../core/codec/wire.ts";
import { microbatchId } from "../../../core/ids.ts";
import { parameterTable, type StageSpec } from "../../../core/model/spec.ts";
import { taskOutput } from "../../../core/model/stage_wires.ts";
import { innovation } from "../../../core/score/innovation.ts";
import type { StageCompute, StageInput } from "../../../gpu/compute.ts";
import { createReferenceStage } from "../../../gpu/reference/stage.ts";
import { inputsOf, openPath, type Path, type PathOptions, trainStep } from "../trained_path.ts";
import { behaviours, type Seen, type Variant, variants } from "./behaviours.ts";

/** One microbatch of one behaviour. */
export interface Judgement {
  readonly cosine: number;
  readonly normRatio: number; // the smaller norm by the larger
  readonly error: number; // innovation
  readonly equalShare: number; // of values equal to the last bit
}

/** By behaviour. */
export type Judgements = ReadonlyMap<string, readonly Judgement[]>;

const staleSteps = 15;
const apartSteps = 10; // that a replica has trained on other text

export async function auditZoo(options: PathOptions & { microbatches: number }): Promise<Judgements> {
  const { config } = options;
  const { steps, microbatchesPerStep } = config.train;
  const index = config.pipeline.stages >> 1;
  const opened: StageCompute[] = [];
  try {
    const path = await openPath(options);
    opened.push(...path);
    const stage = present(path[index], "the middle stage exists");
    let stale = await stage.readParameters();
    for (let step = 0; step < steps; step++) {
      if (step === steps - staleSteps) stale = await stage.readParameters();
      await trainStep(path, { ...options, step, from: step * microbatchesPerStep });
    }
    const replica = await trainedApart(path, options);
    opened.push(...replica);
    const others = await openVariants(stage, { device: options.device, stale, replica: replica[index]! });
    opened.push(...others.values());
    return await judgeAll(stage, { ...options, path, others, from: (steps + apartSteps) * microbatchesPerStep });
  } finally {
    for (const each of opened) await each.close();
  }
}

/** A second path that begins as the first one is, and trains on other text for a few steps. */
async function trainedApart(path: Path, options: PathOptions): Promise<Path> {
  const { steps, microbatchesPerStep } = options.config.train;
  const replica = await openPath(options);
  for (const [i, stage] of replica.entries()) {
    await stage.loadParameters(await path[i]!.readParameters());
    await stage.loadOptimizer(await path[i]!.readOptimizer());
  }
  for (let step = 0; step < apartSteps; step++) {
    await trainStep(replica, { ...options, step: steps - 1, from: (steps + step) * microbatchesPerStep });
  }
  return replica;
}

async function openVariants(
  stage: StageCompute,
  { device, stale, replica }: { device: PathOptions["device"]; stale: Float32Array; replica: StageCompute },
): Promise<Map<Variant, StageCompute>> {
  const { spec } = stage;
  const parameters = await stage.readParameters();
  const sets: Readonly<Record<Variant, Float32Array>> = {
    "other device": parameters,
    "no last layer": without(parameters, { spec, parts: ["self_attn.o_proj", "mlp.down_proj"] }),
    "no last FFN": without(parameters, { spec, parts: ["mlp.down_proj"] }),
    "stale": stale,
    "replica": await replica.readParameters(),
  };
  const others = new Map<Variant, StageCompute>();
  for (const variant of variants) {
    const other = variant === "other device"
      ? createReferenceStage(spec)
      : await device.openStage(spec, { optimizer: null });
    await other.loadParameters(sets[variant]);
    others.set(variant, other);
  }
  return others;
}

/** The parameters with these parts of the last layer zero, so that they add nothing to the residual stream. */
function without(
  parameters: Float32Array,
  { spec, parts }: { spec: StageSpec; parts: readonly string[] },
): Float32Array {
  const changed = parameters.slice();
  const layer = spec.firstLayer + spec.layerCount - 1;
  const names = parts.map((part) => `model.layers.${layer}.${part}.weight`);
  for (const { name, offset, size } of parameterTable(spec).tensors) {
    if (names.includes(name)) changed.fill(0, offset, offset + size);
  }
  return changed;
}

interface JudgeOptions extends PathOptions {
  readonly microbatches: number;
  readonly path: Path;
  readonly others: ReadonlyMap<Variant, StageCompute>;
  readonly from: number; // the first microbatch
}

async function judgeAll(
  stage: StageCompute,
  { batches, signal, microbatches, path, others, from }: JudgeOptions,
): Promise<Judgements> {
  const wire = present(taskOutput(stage.spec, "forward"), "a stage that lies sends wires");
  const judgements = new Map(behaviours.map(({ name }) => [name, [] as Judgement[]]));
  let otherOutput: Float32Array | null = null;
  for (let i = 0; i <= microbatches; i++) {
    signal.throwIfAborted();
    const { inputs: tokens } = batches.tokensOf(microbatchId(from + i));
    const inputs = await inputsOf(path, { type: "tokens", tokens });
    const input = present(inputs[stage.spec.index], "every stage has an input");
    const output = decodeWire(wire, await stage.forward(input));
    if (otherOutput !== null) {
      const by: Seen["by"] = async (variant) =>
        decodeWire(wire, await present(others.get(variant), "every variant is open").forward(input));
      const seen: Seen = { input: valuesOf(wire, input), output, otherOutput, by };
      for (const { name, values } of behaviours) {
        const claimed = decodeWire(wire, encodeWire(wire, await values(seen), tokens));
        present(judgements.get(name), "every behaviour is judged").push(judge(wire, { claimed, ...seen }));
      }
    }
    otherOutput = output;
  }
  return judgements;
}

function valuesOf(wire: Wire, input: StageInput): Float32Array {
  if (input.type === "wire") return decodeWire(wire, input.wire);
  throw new Error("Cannot audit a head as its input is no wire");
}

function judge(
  wire: Wire,
  { claimed, input, output }: { claimed: Float32Array; input: Float32Array; output: Float32Array },
): Judgement {
  const { error, equalShare } = innovation({
    ...{ claimed, repeated: output, lazy: input },
    ...{ width: wire.width, rounding: wireRounding(wire) },
  });
  let product = 0, ofClaim = 0, ofOutput = 0;
  for (const [i, value] of output.entries()) {
    product += value * claimed[i]!;
    ofClaim += claimed[i]! ** 2;
    ofOutput += value ** 2;
  }
  const cosine = product / Math.sqrt(ofClaim * ofOutput);
  const normRatio = Math.sqrt(Math.min(ofClaim, ofOutput) / Math.max(ofClaim, ofOutput));
  return { cosine, normRatio, error, equalShare };
}
