/**
 * A plain Llama as a GGUF file (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md), version 3, with all tensors in
 * float32: what llama.cpp and its like load.
 */

import { assert } from "../../../core/assert.ts";
import { ropeScalingOf, ropeSlowdowns } from "../../../core/model/rope.ts";
import type { ModelShape } from "../../../core/model/shape.ts";
import { embeddingName, headName, type ParameterTensor } from "../../../core/model/spec.ts";
import type { GgufTokens } from "./gguf_tokenizer.ts";
import { bytesOf } from "../tensors/safetensors.ts";

type GgufValue =
  | { readonly type: "u32" | "f32" | "i32"; readonly value: number }
  | { readonly type: "bool"; readonly value: boolean }
  | { readonly type: "string"; readonly value: string }
  | { readonly type: "strings"; readonly value: readonly string[] }
  | { readonly type: "i32s"; readonly value: readonly number[] };

const typeCodes = { u32: 4, i32: 5, f32: 6, bool: 7, string: 8, array: 9 } as const;
const alignment = 32; // bytes, the format's default
const float32 = 0; // of ggml_type
const version = 3;

const u32 = (value: number): GgufValue => ({ type: "u32", value });
const f32 = (value: number): GgufValue => ({ type: "f32", value });
const text = (value: string): GgufValue => ({ type: "string", value });

export interface GgufModel {
  readonly name: string;
  readonly model: ModelShape;
  readonly tokens: GgufTokens;
  readonly tensors: readonly ParameterTensor[]; // of the whole model
}

/**
 * All before the tensors' data, which follows in the same order, each padded by `ggufPadding`; at the end `ropeDivisors`, if
 * there are any.
 */
export function ggufHead({ name, model, tokens, tensors }: GgufModel): Uint8Array {
  const out = new ByteWriter();
  const entries = Object.entries({ ...shapeEntries(name, model), ...tokenizerEntries(tokens) });
  out.bytes(new TextEncoder().encode("GGUF"));
  out.u32(version);
  const divisors = ropeDivisors(model);
  const described = [
    ...tensors.map(({ name, shape, size }) => ({ name: ggufName(name), shape, size })),
    ...(divisors === null ? [] : [{ name: "rope_freqs.weight", shape: [divisors.length], size: divisors.length }]),
  ];
  out.u64(described.length);
  out.u64(entries.length);
  for (const [key, value] of entries) writeEntry(out, key, value);
  let offset = 0;
  for (const { name, shape, size } of described) {
    out.string(name);
    out.u32(shape.length);
    for (const length of shape.toReversed()) out.u64(length); // the fastest dimension first
    out.u32(float32);
    out.u64(offset);
    offset += 4 * size + ggufPadding(4 * size);
  }
  out.bytes(new Uint8Array(ggufPadding(out.length)));
  return out.take();
}

export const ggufPadding = (bytes: number): number => (alignment - bytes % alignment) % alignment;

/** By which llama.cpp divides the frequency of each pair of channels. Null: rotary angles are not scaled. */
export function ropeDivisors(model: ModelShape): Float32Array | null {
  return ropeScalingOf(model) === null ? null : Float32Array.from(ropeSlowdowns(model, model.width / model.heads));
}

/** As llama.cpp turns pairs of neighbouring channels, and Hugging Face a channel with the one half a head further. */
export function ggufTensor({ name, shape }: ParameterTensor, values: Float32Array, model: ModelShape): Uint8Array {
  const isQuery = name.endsWith("q_proj.weight");
  if (!isQuery && !name.endsWith("k_proj.weight")) return bytesOf(values);
  const [rows, columns] = shape as readonly [number, number];
  const headRows = rows / (isQuery ? model.heads : model.kvHeads);
  const turned = new Float32Array(values.length);
  for (let row = 0; row < rows; row++) {
    const [head, channel] = [Math.floor(row / headRows), row % headRows];
    const from = head * headRows + (channel % 2) * headRows / 2 + Math.floor(channel / 2);
    turned.set(values.subarray(from * columns, (from + 1) * columns), row * columns);
  }
  return bytesOf(turned);
}

const layerNames: Readonly<Record<string, string>> = {
  "self_attn.q_proj": "attn_q",
  "self_attn.k_proj": "attn_k",
  "self_attn.v_proj": "attn_v",
  "self_attn.o_proj": "attn_output",
  "mlp.gate_proj": "ffn_gate",
  "mlp.up_proj": "ffn_up",
  "mlp.down_proj": "ffn_down",
  "input_layernorm": "attn_norm",
  "post_attention_layernorm": "ffn_norm",
};

function ggufName(name: string): string {
  if (name === embeddingName) return "token_embd.weight";
  if (name === headName) return "output.weight";
  if (name === "model.norm.weight") return "output_norm.weight";
  const [, layer, part] = /^model\.layers\.(\d+)\.(.+)\.weight$/.exec(name) ?? [];
  const own = layerNames[part ?? ""];
  assert(own !== undefined, `A plain Llama has no tensor ${name}`);
  return `blk.${layer}.${own}.weight`;
}

const shapeEntries = (name: string, model: ModelShape): Record<string, GgufValue> => ({
  "general.architecture": text("llama"),
  "general.name": text(name),
  "general.file_type": u32(float32),
  "llama.context_length": u32(model.contextLength),
  "llama.embedding_length": u32(model.width),
  "llama.block_count": u32(model.layers),
  "llama.feed_forward_length": u32(model.ffnWidth),
  "llama.attention.head_count": u32(model.heads),
  "llama.attention.head_count_kv": u32(model.kvHeads),
  "llama.attention.layer_norm_rms_epsilon": f32(model.normEpsilon),
  "llama.rope.dimension_count": u32(model.width / model.heads),
  "llama.rope.freq_base": f32(model.ropeBase),
  "llama.vocab_size": u32(model.vocabSize),
});

function tokenizerEntries(
  { pre, tokens, types, merges, begin, end, addsBegin, chatTemplate }: GgufTokens,
): Record<string, GgufValue> {
  return {
    "tokenizer.ggml.model": text("gpt2"),
    "tokenizer.ggml.pre": text(pre),
    "tokenizer.ggml.tokens": { type: "strings", value: tokens },
    "tokenizer.ggml.token_type": { type: "i32s", value: types },
    "tokenizer.ggml.merges": { type: "strings", value: merges },
    "tokenizer.ggml.bos_token_id": u32(begin),
    "tokenizer.ggml.eos_token_id": u32(end),
    // llama.cpp would add one with this kind of tokenizer, if nothing were said.
    ...(addsBegin || pre === "llama-bpe" ? { "tokenizer.ggml.add_bos_token": { type: "bool", value: addsBegin } } : {}),
    ...(chatTemplate === null ? {} : { "tokenizer.chat_template": text(chatTemplate) }),
  };
}

function writeEntry(out: ByteWriter, key: string, entry: GgufValue): void {
  out.string(key);
  switch (entry.type) {
    case "strings":
      out.u32(typeCodes.array);
      out.u32(typeCodes.string);
      out.u64(entry.value.length);
      return entry.value.forEach((each) => out.string(each));
    case "i32s":
      out.u32(typeCodes.array);
      out.u32(typeCodes.i32);
      out.u64(entry.value.length);
      return entry.value.forEach((each) => out.u32(each));
    case "string":
      out.u32(typeCodes.string);
      return out.string(entry.value);
    case "bool":
      out.u32(typeCodes.bool);
      return out.bytes(Uint8Array.of(entry.value ? 1 : 0));
    case "f32":
      out.u32(typeCodes.f32);
      return out.f32(entry.value);
    default:
      out.u32(typeCodes[entry.type]);
      return out.u32(entry.value);
  }
}

class ByteWriter {
  readonly #parts: Uint8Array[] = [];
  length = 0;

  bytes(part: Uint8Array): void {
    this.#parts.push(part);
    this.length += part.length;
  }

  u32(value: number): void {
    this.bytes(new Uint8Array(Uint32Array.of(value).buffer)); // every machine Deno runs on is little-endian
  }

  u64(value: number): void {
    this.bytes(new Uint8Array(BigUint64Array.of(BigInt(value)).buffer));
  }

  f32(value: number): void {
    this.bytes(new Uint8Array(Float32Array.of(value).buffer));
  }

  string(value: string): void {
    const encoded = new TextEncoder().encode(value);
    this.u64(encoded.length);
    this.bytes(encoded);
  }

  take(): Uint8Array {
    const whole = new Uint8Array(this.length);
    let at = 0;
    for (const part of this.#parts) {
      whole.set(part, at);
      at += part.length;
    }
    return whole;
  }
}
