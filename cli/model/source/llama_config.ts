/**
 * `config.json` of a Hugging Face Llama, and of this program's exports (model_type `iota`), whose extra fields say how the
 * model is cut into stages and what crosses between them.
 *
 * Read: what this program computes exactly. A model with anything else is refused by name, because it would load and
 * speak nonsense.
 */

import * as v from "valibot";
import { codecNames } from "../../../core/codec/codec_names.ts";
import { boundariesProblem, boundariesText, wiresOfRun } from "../../../core/model/boundaries.ts";
import { ropeScalingOf } from "../../../core/model/rope.ts";
import type { ModelPlan, ModelShape, PipelineShape } from "../../../core/model/shape.ts";
import { startOf } from "../../../core/tokenizer/tokenizer.ts";
import { plural } from "../../../core/plural.ts";
import { readJsonFile } from "../../files/json_file.ts";
import { UserError } from "../../program/errors.ts";
import type { ModelSource } from "./model_source.ts";

export const configName = "config.json";

export interface SplitModel {
  readonly plan: ModelPlan;
  readonly layersOfStages: readonly number[];
  readonly isTied: boolean; // the head is the embedding
}

const count = (most: number) => v.pipe(v.number(), v.safeInteger(), v.minValue(1), v.maxValue(most));
const multiple = (unit: number, most: number) =>
  v.pipe(count(most), v.multipleOf(unit, `must be a multiple of ${unit}`));
const optional = v.nullish;

const configShape = v.looseObject({
  model_type: v.picklist(["llama", "iota"], 'must be "llama", or "iota" for a model that this program exported'),
  vocab_size: multiple(4, 2 ** 20),
  hidden_size: multiple(32, 2 ** 16),
  num_hidden_layers: count(1024),
  num_attention_heads: count(1024),
  num_key_value_heads: optional(count(1024)),
  head_dim: optional(count(4096)),
  intermediate_size: multiple(4, 2 ** 20),
  max_position_embeddings: count(2 ** 20), // further on, the angles of positions are not computed exactly
  rms_norm_eps: optional(v.pipe(v.number(), v.minValue(0), v.maxValue(1))),
  rope_theta: optional(v.pipe(v.number(), v.minValue(1))),
  rope_scaling: optional(v.unknown()),
  rope_parameters: optional(v.unknown()),
  hidden_act: optional(v.literal("silu")),
  attention_bias: optional(v.literal(false)),
  mlp_bias: optional(v.literal(false)),
  tie_word_embeddings: optional(v.boolean()),
  iota: optional(v.object({
    layersOfStages: v.pipe(v.array(count(1024)), v.minLength(1), v.maxLength(64)),
    boundaries: v.array(v.object({ codec: v.picklist(codecNames), width: count(2 ** 16) })),
    sideWidth: v.pipe(v.number(), v.safeInteger(), v.minValue(0), v.maxValue(4096)),
  })),
});

type Config = v.InferOutput<typeof configShape>;

/** Throws a `UserError` that names the first field in the way. */
export async function readLlamaConfig(path: string): Promise<SplitModel> {
  const shaped = await readJsonFile(path, configShape);
  if (shaped === null) throw refusal(path, "it is not a file");
  if ("problem" in shaped) throw refusal(path, shaped.problem);
  const config = shaped.value;
  const model = shapeOf(config, path);
  const { layersOfStages, boundaries, sideWidth } = config.iota ??
    { layersOfStages: [model.layers], boundaries: [], sideWidth: 0 };
  const layers = layersOfStages.reduce((sum, count) => sum + count, 0);
  if (layers !== model.layers) {
    throw refusal(path, `iota.layersOfStages has ${layers} layers, and num_hidden_layers is ${model.layers}`);
  }
  if (boundaries.length !== layersOfStages.length - 1) {
    throw refusal(path, `iota.boundaries must have one less than the ${plural(layersOfStages.length, "stage")}`);
  }
  const pipeline: PipelineShape = {
    ...{ stages: layersOfStages.length, codec: "none", bottleneckWidth: 4, sideWidth },
    boundaries: boundariesText(model, boundaries),
  };
  const problem = boundariesProblem({ model, pipeline });
  if (problem !== null) throw refusal(path, `iota.boundaries: ${problem}`);
  return {
    plan: { model, pipeline, train: { sequencesPerMicrobatch: 1 } },
    layersOfStages,
    isTied: config.tie_word_embeddings ?? false,
  };
}

function shapeOf(config: Config, path: string): ModelShape {
  const { hidden_size: width, num_attention_heads: heads } = config;
  const kvHeads = config.num_key_value_heads ?? heads;
  if (width % heads !== 0 || (config.head_dim ?? width / heads) !== width / heads) {
    throw refusal(path, `head_dim must be hidden_size / num_attention_heads = ${width / heads}`);
  }
  if ((width / heads) % 8 !== 0) throw refusal(path, `a head's width must be a multiple of 8, and is ${width / heads}`);
  if (heads % kvHeads !== 0) {
    throw refusal(path, `num_attention_heads (${heads}) must be a multiple of num_key_value_heads (${kvHeads})`);
  }
  return {
    vocabSize: config.vocab_size,
    width,
    layers: config.num_hidden_layers,
    heads,
    kvHeads,
    ffnWidth: config.intermediate_size,
    contextLength: config.max_position_embeddings,
    ...ropeOf(config, path),
    normEpsilon: config.rms_norm_eps ?? 1e-6, // the default of transformers
  };
}

const positive = v.pipe(v.number(), v.minValue(1e-3), v.maxValue(2 ** 24));

const ropeShape = v.looseObject({
  rope_type: v.optional(v.string()),
  type: v.optional(v.string()), // before transformers 4.43
  rope_theta: v.optional(v.number()),
});

const scalingShape = v.object({
  factor: v.pipe(positive, v.minValue(1)),
  low_freq_factor: positive,
  high_freq_factor: positive,
  original_max_position_embeddings: count(2 ** 24),
});

/** transformers 5 writes `rope_parameters`, earlier versions `rope_theta` and `rope_scaling`. */
function ropeOf(config: Config, path: string): Pick<ModelShape, "ropeBase"> & Partial<ModelShape> {
  const field = config.rope_parameters == null ? "rope_scaling" : "rope_parameters";
  const found = v.safeParse(v.nullish(ropeShape), config[field]);
  const type = found.success ? found.output?.rope_type ?? found.output?.type ?? "default" : "unknown";
  const base = found.success ? found.output?.rope_theta : undefined;
  const ropeBase = base ?? config.rope_theta ?? 10_000; // the default of transformers
  if (type === "default") return { ropeBase };
  if (type !== "llama3") throw refusal(path, `rope scaling of type '${type}' is not computed by this program`);
  const scaling = v.safeParse(scalingShape, config[field]);
  if (!scaling.success) {
    const [issue] = scaling.issues;
    throw refusal(path, `${field}.${v.getDotPath(issue) ?? "rope_type"}: ${issue.message}`);
  }
  const { factor, low_freq_factor: low, high_freq_factor: high, original_max_position_embeddings } = scaling.output;
  if (high <= low) {
    throw refusal(path, `${field}.high_freq_factor (${high}) must be larger than low_freq_factor (${low})`);
  }
  return {
    ropeBase,
    ropeFactor: factor,
    ropeLowFrequency: low,
    ropeHighFrequency: high,
    ropeOriginalContext: original_max_position_embeddings,
  };
}

/** As `rope_scaling`, which all versions of transformers read. */
function ropeScalingText(model: ModelShape): Record<string, unknown> {
  const scaling = ropeScalingOf(model);
  return scaling === null ? {} : {
    rope_scaling: {
      rope_type: "llama3",
      factor: scaling.factor,
      low_freq_factor: scaling.low,
      high_freq_factor: scaling.high,
      original_max_position_embeddings: scaling.originalContext,
    },
  };
}

function refusal(path: string, reason: string): UserError {
  return new UserError(`'${path}' does not describe a model that iota computes: ${reason}`, {
    next: "Use a Llama (model_type llama), or a folder that iota export wrote",
  });
}

/** `isPlain`: as core/model/plain.ts finds. */
export function formatLlamaConfig(
  { plan, layersOfStages, tokenizer, ends }: Pick<ModelSource, "plan" | "layersOfStages" | "tokenizer" | "ends">,
  options: { readonly isPlain: boolean; readonly type: "float32" | "bfloat16" },
): Record<string, unknown> {
  const { model, pipeline } = plan;
  const boundaries = wiresOfRun(plan).map(({ codec, width }) => ({ codec, width }));
  const own = {
    architectures: ["IotaForCausalLM"],
    model_type: "iota",
    auto_map: { AutoConfig: "modeling_iota.IotaConfig", AutoModelForCausalLM: "modeling_iota.IotaForCausalLM" },
    iota: { layersOfStages, boundaries, sideWidth: pipeline.sideWidth ?? 0 },
  };
  return {
    ...(options.isPlain ? { architectures: ["LlamaForCausalLM"], model_type: "llama" } : own),
    vocab_size: model.vocabSize,
    hidden_size: model.width,
    intermediate_size: model.ffnWidth,
    num_hidden_layers: model.layers,
    num_attention_heads: model.heads,
    num_key_value_heads: model.kvHeads,
    head_dim: model.width / model.heads,
    max_position_embeddings: model.contextLength,
    rope_theta: model.ropeBase,
    ...ropeScalingText(model),
    rms_norm_eps: model.normEpsilon,
    hidden_act: "silu",
    attention_bias: false,
    mlp_bias: false,
    tie_word_embeddings: false,
    bos_token_id: startOf(tokenizer)[0],
    eos_token_id: ends.size > 1 ? [...ends] : tokenizer.endOfText,
    torch_dtype: options.type,
  };
}
