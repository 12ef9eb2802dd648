/**
 * Writes a model as a folder that Hugging Face transformers loads: a plain Llama without code of ours, any other with
 * modeling_iota.py. `config.json` is written last: a folder without it is incomplete.
 *
 * Stages are read one by one, and their tensors go straight into the shards.
 */

import { present } from "../../../core/assert.ts";
import { beyondLlama } from "../../../core/model/plain.ts";
import type { ParameterTensor } from "../../../core/model/spec.ts";
import { type Disk, isFile, realDisk, writeAtomically } from "../../files/disk.ts";
import { UserError } from "../../program/errors.ts";
import { configName, formatLlamaConfig } from "../source/llama_config.ts";
import { indexName, weightsName } from "../source/llama_folder.ts";
import { type ModelSource, tensorsOf, valuesOf } from "../source/model_source.ts";
import { parseTokenizer } from "../tokenizer/parse_tokenizer.ts";
import { type ExportType, floatBytes, narrow } from "../tensors/float_types.ts";
import { safetensorsHeader } from "../tensors/safetensors.ts";
import modelingCode from "./modeling_iota.py" with { type: "text" };
import { type Provenance, provenanceName } from "./provenance.ts";
import { tokenizerFiles } from "./tokenizer_files.ts";

export interface ExportRequest {
  readonly out: string;
  readonly type: ExportType;
  readonly shardBytes: number; // a larger tensor has a shard of its own
  readonly card: string; // README.md
  readonly provenance?: Provenance | null; // null: not known
  readonly disk?: Disk;
  readonly onTensor?: (done: number, total: number) => void;
}

export interface ExportedModel {
  readonly parameters: number;
  readonly bytes: number; // of tensors
  readonly shards: number;
}

const kinds = { f32: { stored: "F32", named: "float32" }, bf16: { stored: "BF16", named: "bfloat16" } } as const;

export async function exportModel(source: ModelSource, request: ExportRequest): Promise<ExportedModel> {
  const { out, type, shardBytes, card, disk = realDisk, onTensor = () => {} } = request;
  if (await isFile(`${out}/${configName}`)) {
    throw new UserError(`'${out}' already holds a model`, {
      next: "Pass another folder with --out, or remove this one",
    });
  }
  await disk.createFolder(out);
  const { stored, named } = kinds[type];
  const tensors = tensorsOf(source);
  const shards = shardsOf(tensors, shardBytes / floatBytes[stored]);
  const values = valuesOf(source);
  const names = shards.length === 1 ? [weightsName] : shards.map((_, i) => shardName(i, shards.length));
  let done = 0;
  const shardOf = async function* (own: readonly ParameterTensor[]): AsyncGenerator<Uint8Array> {
    yield* safetensorsHeader(own, { type: stored });
    for (const _ of own) {
      const { value } = await values.next();
      yield narrow(present(value, "every tensor has values"), stored);
      onTensor(done += 1, tensors.length);
    }
  };
  for (const [i, own] of shards.entries()) {
    await writeAtomically(`${out}/${names[i]}`, { disk, chunks: shardOf(own) });
  }
  const parameters = tensors.reduce((sum, { size }) => sum + size, 0);
  const bytes = parameters * floatBytes[stored];
  const isPlain = beyondLlama(source.plan) === null;
  const config = formatLlamaConfig(source, { isPlain, type: named });
  const { contextLength } = source.plan.model;
  const ofTokenizer = Object.entries(
    tokenizerFiles(source.tokenizer, { contextLength, hidesBegin: hidesBegin(source) }),
  );
  const files: Record<string, string | Uint8Array> = {
    ...(shards.length === 1 ? {} : { [indexName]: json(indexOf(shards, { names, bytes })) }),
    ...(isPlain ? {} : { "modeling_iota.py": modelingCode }),
    ...Object.fromEntries(ofTokenizer.map(([name, value]) => [name, json(value)])),
    ...Object.fromEntries(source.settings),
    "tokenizer.json": source.tokenizerFile,
    "README.md": card,
    ...(request.provenance == null ? {} : { [provenanceName]: json(request.provenance) }),
    [configName]: json(config),
  };
  for (const [name, content] of Object.entries(files)) {
    const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
    await writeAtomically(`${out}/${name}`, { disk, chunks: [bytes] });
  }
  return { parameters, bytes, shards: shards.length };
}

/** A run's documents have no begin token, whatever the tokenizer that it took from elsewhere does. */
function hidesBegin({ trained, tokenizer, tokenizerFile, path }: ModelSource): boolean {
  if (trained === null || tokenizer.beginOfText.length > 0) return false;
  const origin = { path, endOfText: tokenizer.endOfText, beginOfText: "file" } as const;
  return parseTokenizer(tokenizerFile, origin).beginOfText.length > 0;
}

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

const shardName = (index: number, count: number): string => {
  const digits = (number: number) => String(number).padStart(5, "0");
  return `model-${digits(index + 1)}-of-${digits(count)}.safetensors`;
};

function shardsOf(tensors: readonly ParameterTensor[], mostFloats: number): ParameterTensor[][] {
  const shards: ParameterTensor[][] = [[]];
  let floats = 0;
  for (const tensor of tensors) {
    if (floats > 0 && floats + tensor.size > mostFloats) {
      shards.push([]);
      floats = 0;
    }
    shards.at(-1)!.push(tensor);
    floats += tensor.size;
  }
  return shards;
}

const indexOf = (shards: readonly ParameterTensor[][], { names, bytes }: { names: string[]; bytes: number }) => ({
  metadata: { total_size: bytes },
  weight_map: Object.fromEntries(shards.flatMap((tensors, i) => tensors.map(({ name }) => [name, names[i]]))),
});
