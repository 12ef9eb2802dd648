/**
 * Estimates a miner's traffic in a round, and the bandwidth for it.
 *
 * Assumes rounds of the most steps, every replica at work, no retries, and payloads of random values, as their bytes
 * may depend on the values. Validators, newcomers and checkpoints do not cost a miner something in every round, and are
 * left out.
 */

import { present } from "../../../core/assert.ts";
import type { RunConfig } from "../../../core/config/config.ts";
import { longestRound, mergeShareOf } from "../../../core/config/round_length.ts";
import { wireBytes } from "../../../core/codec/wire.ts";
import { stageIndex } from "../../../core/ids.ts";
import { atOnce } from "../../../core/long_work.ts";
import { payloadCodecOf } from "../../../core/update/payload/payload_codecs.ts";
import { changeBytes } from "../../../core/update/shown_change.ts";
import { initialParameters } from "../../../core/model/initial.ts";
import type { ParameterTable, StageSpec } from "../../../core/model/spec.ts";
import { stageFlopsPerToken, stageParameterLengths } from "../../../core/model/stages.ts";
import { stageWires } from "../../../core/model/stage_wires.ts";
import { reducesAlone } from "../../../core/orchestrator/merge/reducing.ts";

interface BothWays {
  readonly received: number;
  readonly sent: number;
}

export interface RoundBytes {
  readonly wires: BothWays;
  readonly merge: BothWays;
  readonly shown: number;
  readonly flops: number;
}

/** One task, forward and backward. */
export function taskBytes(spec: StageSpec): BothWays {
  const { input, inputGradient, output, outputGradient } = stageWires(spec);
  const bytesOf = (wires: readonly (typeof input)[]) =>
    wires.reduce((sum, wire) => sum + (wire === null ? 0 : wireBytes(wire)), 0);
  return { received: bytesOf([input, outputGradient]), sent: bytesOf([output, inputGradient]) };
}

export function roundBytes(config: RunConfig, specs: readonly StageSpec[]): RoundBytes[] {
  const { train, swarm, validate } = config;
  const stageFloats = stageParameterLengths(config);
  const perValue = sampleMerge(config);
  const tasks = longestRound(train) * train.microbatchesPerStep / swarm.replicas;
  return specs.map((spec) => {
    const floats = present(stageFloats[spec.index], "every stage has a length");
    const ofTask = taskBytes(spec);
    const tokens = tasks * spec.sequences * spec.model.contextLength;
    return {
      wires: { received: tasks * ofTask.received, sent: tasks * ofTask.sent },
      merge: mergeBytes(config, { stageFloats, stage: spec.index, perValue }),
      shown: swarm.validators === 0 ? 0 : validate.statesPerRound * changeBytes(floats),
      flops: tokens * stageFlopsPerToken(spec).training,
    };
  });
}

interface PerValue {
  readonly payload: number;
  readonly mean: number;
}

const sampled = 2 ** 16; // values
const normals: ParameterTable = {
  ...{ length: sampled, decayLength: 0 },
  tensors: [{ name: "payload", shape: [sampled], offset: 0, size: sampled, initial: { type: "normal", std: 1 } }],
};

function sampleMerge(config: RunConfig): PerValue {
  const codec = payloadCodecOf(config);
  const payloads = Array.from({ length: config.swarm.replicas }, (_, seed) =>
    atOnce(codec.encode({
      values: initialParameters(normals, seed),
      residual: codec.keepsResidual ? new Float32Array(sampled) : null,
      embeddings: { ranges: [], share: 0 },
    })));
  const mean = atOnce(codec.average(payloads.map((payload) => ({ payload, weight: 1, scale: 1 }))));
  const length = mean.ok ? mean.value.length : codec.resultBytes(sampled).most;
  return { payload: present(payloads[0], "a stage has a replica").length / sampled, mean: length / sampled };
}

interface MergeOf {
  readonly stageFloats: readonly number[];
  readonly stage: number;
  readonly perValue: PerValue;
}

/**
 * A payload up and the mean down. Where replicas average, two read the others' payloads of a slice and send the mean.
 */
function mergeBytes(config: RunConfig, { stageFloats, stage, perValue }: MergeOf): BothWays {
  const { replicas } = config.swarm;
  const floats = present(stageFloats[stage], "every stage has a length");
  const payload = floats * perValue.payload;
  const mean = floats * perValue.mean;
  const isCentral = replicas === 1 ||
    reducesAlone({ config, stageFloats }, { stage: stageIndex(stage), payloads: replicas });
  const share = isCentral ? 0 : 2 / replicas; // of the slices that a miner averages
  return { received: mean + share * (replicas - 1) * payload, sent: payload + share * mean };
}

export interface Links {
  /** Mbit/s for each TFLOP/s of the miner: wires alone, in the busier direction. */
  readonly wires: number;
  /** Including audits beside training. */
  readonly training: number;
  /** Keeps merges, whose parts run one after another, within their share of the time. */
  readonly merging: number;
}

export function linksFor({ wires, merge, shown, flops }: RoundBytes, { train }: Pick<RunConfig, "train">): Links {
  const share = mergeShareOf(train);
  const over = (bytes: number, seconds: number) => 8 * bytes / seconds / 1e6;
  const seconds = flops / 1e12; // at a TFLOP/s
  return {
    wires: over(Math.max(wires.received, wires.sent), seconds),
    training: over(Math.max(wires.received, wires.sent + shown), seconds),
    merging: over(merge.received + merge.sent, seconds * share / (1 - share)),
  };
}
