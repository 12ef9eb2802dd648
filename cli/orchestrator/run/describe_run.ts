/** A run's opening lines. */

import type { RunConfig } from "../../../core/config/config.ts";
import { isMeasured, longestRound, mergeShareOf } from "../../../core/config/round_length.ts";
import { codecs } from "../../../core/codec/codecs.ts";
import { defaultPayloadCodec, densities } from "../../../core/config/payload_codec_names.ts";
import type { WireSpec } from "../../../core/codec/wire.ts";
import { beyondLlama } from "../../../core/model/plain.ts";
import { modelParameters } from "../../../core/model/shape.ts";
import { wireAt, wiresOfRun } from "../../../core/model/boundaries.ts";
import type { StartModel } from "../../../core/ledger/entry.ts";
import { parameterTable, stageSpecs } from "../../../core/model/spec.ts";
import { splitLayers } from "../../../core/model/stages.ts";
import { freshTensors, type RunStart } from "../../model/source/start_model.ts";
import type { Output } from "../../terminal/output/output.ts";
import { decimal, plural } from "../../terminal/text/format.ts";

export interface TextFacts {
  readonly corpus: string;
  readonly tokens: number;
  readonly bytesPerToken: number;
  readonly unigramEntropy: number; // nats per token of the held-out split
  readonly passes: number; // how often the run's steps read all of it
  readonly use: TextUse | null; // null: an older version's dataset
}

export interface TextUse {
  readonly textBytes: number;
  readonly trainingBytes: number;
  readonly heldOutBytes: number;
  readonly duplicates: number; // documents
  readonly duplicateBytes: number;
  readonly maxBytes: number; // the setting; 0: all
}

/** `tiny, 1.07 M parameters: 3 stages x 2 miners, 640 steps of 2,048 tokens`. */
export function describeRun(config: RunConfig): string {
  const { model, train, pipeline, swarm } = config;
  return `${config.size}, ${parametersText(modelParameters(model))}: ${plural(pipeline.stages, "stage")} x ${
    plural(swarm.replicas, "miner")
  }, ${plural(train.steps, "step")} of ${decimal(batchOf(config).reduce((a, b) => a * b))} tokens`;
}

export function sayRun(output: Pick<Output, "line" | "detail">, config: RunConfig): void {
  output.line(`Training ${describeRun(config)}`);
  output.line(describeResult(config));
  for (const line of describeSettings(config)) output.detail(line);
}

/** Before weeks are spent: which programs will load the model. */
export function describeResult(config: RunConfig): string {
  return beyondLlama(config) === null
    ? "A plain Llama: transformers and llama.cpp load it as it is (iota help export)"
    : "Not a plain Llama: transformers needs our code for it (iota help export)";
}

export function parametersText(count: number): string {
  if (count < 1e6) return `${decimal(count)} parameters`;
  return count < 1e9 ? `${decimal(count / 1e6)} M parameters` : `${decimal(count / 1e9)} billion parameters`;
}

const batchOf = ({ model, train }: RunConfig): number[] => [
  train.microbatchesPerStep,
  train.sequencesPerMicrobatch,
  model.contextLength,
];

export function describeSettings(config: RunConfig): string[] {
  const { model, train, pipeline, outer } = config;
  const batch = batchOf(config);
  return [
    `model  ${config.size}: ${(modelParameters(model) / 1e6).toFixed(2)} M parameters, width ${model.width}, ` +
    `${plural(model.layers, "layer")}, ${model.heads} query and ${
      plural(model.kvHeads, "key-value head")
    }, feed-forward ${model.ffnWidth}, ` +
    `vocabulary ${model.vocabSize}, context ${model.contextLength}`,
    `run    ${plural(pipeline.stages, "stage")} with ${plural(config.swarm.replicas, "miner")}${
      pipeline.stages === 1 ? "" : " each"
    }, ${codecsText(config)}; ${plural(train.steps, "step")} of ` +
    `${batch.reduce((a, b) => a * b)} tokens (${batch.join(" x ")}), merge ${intervalText(train)}, ${
      payloadText(outer)
    } payloads; ` +
    `learning rate ${train.learningRate}, outer ${outer.learningRate} with momentum ${outer.momentum}, seed ${config.seed}`,
  ];
}

function codecsText(config: RunConfig): string {
  const named = ({ codec, width, gradientBits, sideWidth }: WireSpec) =>
    `codec ${codec}${codecs[codec].describe(width)}` +
    (gradientBits === undefined ? "" : ` and gradients in ${gradientBits} bits`) +
    (sideWidth === undefined ? "" : `, beside ${sideWidth} values that stages keep of each`);
  const { boundaries: _, ...pipeline } = config.pipeline;
  const usual = named(wireAt({ model: config.model, pipeline }, 1));
  const wires = wiresOfRun(config).map(named);
  const others = wires.flatMap((wire, i) => wire === usual ? [] : [`${wire} before stage ${i + 1}`]);
  const isUsed = wires.length === 0 || others.length < wires.length;
  return [...(isUsed ? [usual] : []), ...others].join(", ");
}

const intervalText = (train: RunConfig["train"]): string =>
  isMeasured(train)
    ? `as often as takes ${decimal(100 * mergeShareOf(train))} % of the time, at the latest after ${
      longestRound(train)
    }`
    : `every ${train.stepsPerRound}`;

function payloadText({ payload = defaultPayloadCodec, density = densities.default }: RunConfig["outer"]): string {
  return payload === "sparse" ? `sparse (1/${decimal(1 / density)})` : payload;
}

export function describeText(
  { corpus, tokens, bytesPerToken, unigramEntropy, passes, use }: TextFacts,
): string[] {
  return [
    `text   ${corpus}: ${tokens} training tokens of ${bytesPerToken.toFixed(2)} bytes; ` +
    `passes of the run over them: ${decimal(Number(passes.toPrecision(2)))}; ` +
    `held-out unigram entropy ${unigramEntropy.toFixed(3)} nats per token`,
    ...(use === null ? [] : describeUse(corpus, use)),
  ];
}

/** A person who gave 10 MB must learn now that only 200 kB are used. */
function describeUse(corpus: string, use: TextUse): string[] {
  const { textBytes, trainingBytes, heldOutBytes, duplicates, duplicateBytes, maxBytes } = use;
  const usedBytes = trainingBytes + heldOutBytes;
  const unusedBytes = textBytes - usedBytes - duplicateBytes;
  const share = (bytes: number) => `${decimal(Number((100 * bytes / textBytes).toPrecision(2)))} %`;
  const isLimited = maxBytes > 0 && maxBytes < textBytes - duplicateBytes;
  return [
    `       ${size(usedBytes)} of ${size(textBytes)} used: ${size(trainingBytes)} to train on, ` +
    `${size(heldOutBytes)} held out` +
    (duplicates === 0 ? "" : `; ${plural(duplicates, "repeated part")} left out (${size(duplicateBytes)})`),
    ...(isLimited && unusedBytes > 0
      ? [
        `       ${share(unusedBytes)} of ${corpus} is not used, because data.maxBytes is ${decimal(maxBytes)}: ` +
        "--set data.maxBytes=0 uses all of it",
      ]
      : []),
  ];
}

function size(bytes: number): string {
  if (bytes < 1e3) return plural(bytes, "byte");
  return bytes < 1e6 ? `${decimal(Number((bytes / 1e3).toPrecision(3)))} kB` : `${decimal(bytes / 1e6)} MB`;
}

/** What people should know before the run begins. */
export function describeStart({ source }: RunStart, config: RunConfig, { name, parameters }: StartModel): string[] {
  const tables = stageSpecs(config, splitLayers(config)).map((spec) => parameterTable(spec).tensors);
  const fresh = freshTensors(source, config);
  const floats = (tensors: readonly { size: number }[]) => tensors.reduce((sum, { size }) => sum + size, 0);
  const copied = floats(tables.flat()) - floats(fresh);
  const [before, after] = [beyondLlama(source.plan), beyondLlama(config)];
  return [
    `Begins with the model '${name}' (${parameters.slice(0, 12)}…): ${parametersText(copied)} and its tokenizer`,
    ...(source.isTied ? ["Its head was its embedding: both are copied, are in different stages, and train apart"] : []),
    ...(fresh.length === 0 ? [] : [
      `${plural(fresh.length, "tensor")} of boundaries (${parametersText(floats(fresh))}) begin random: ` +
      `until they are trained, the model writes noise${before === null ? "; --codec none keeps it as it is" : ""}`,
    ]),
    ...(before !== null && before !== after ? [forgettingText] : []),
  ];
}

/** Measured by a twin of `tiny`, whose full run ends at 3.24 nats. */
const forgettingText =
  "It was trained with boundaries that this run does not have, and forgets without them: tiny, at 3.24 nats with them, " +
  "was at 4.51 after training on with a tenth of its tokens, at 3.53 with three tenths";
