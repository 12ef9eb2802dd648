/**
 * A Hugging Face folder as a model: config.json, tokenizer.json, and tensors in model.safetensors or in the shards that
 * model.safetensors.index.json names.
 */

import * as v from "valibot";
import { embeddingName, headName, parameterTable, type StageSpec } from "../../../core/model/spec.ts";
import { isFile } from "../../files/disk.ts";
import { readJsonFile } from "../../files/json_file.ts";
import { UserError } from "../../program/errors.ts";
import { beginOfTextBeside } from "../tokenizer/begin_of_text.ts";
import { endOfTextBeside, endsBeside } from "../tokenizer/end_of_text.ts";
import { chatTemplateBeside } from "../template/chat_template.ts";
import { readSettingsBytes } from "../tokenizer/settings_file.ts";
import { parseTokenizer, readTokenizerBytes } from "../tokenizer/parse_tokenizer.ts";
import type { OpenTokenizer } from "../data/tokenizer_file.ts";
import { SafetensorsFile } from "../tensors/safetensors.ts";
import { configName, readLlamaConfig } from "./llama_config.ts";
import type { ModelSource } from "./model_source.ts";

export const weightsName = "model.safetensors";
export const indexName = "model.safetensors.index.json";

export async function openLlamaFolder(folder: string): Promise<ModelSource> {
  const { plan, layersOfStages, isTied } = await readLlamaConfig(`${folder}/${configName}`);
  const fileOf = await placesOfTensors(folder);
  const opened = await tokenizerOf(folder, plan.model.vocabSize);
  return {
    ...{ path: folder, trained: null, plan, layersOfStages, isTied },
    ...opened,
    ends: new Set([opened.tokenizer.endOfText, ...await endsBeside(folder)]),
    chat: await chatTemplateBeside(folder),
    settings: await settingsOf(folder),
    readStage: (spec) => readStage(spec, { folder, fileOf, isTied }),
  };
}

/** What transformers reads beside config.json and tokenizer.json. */
const settingsNames = [
  ...["tokenizer_config.json", "special_tokens_map.json", "generation_config.json", "chat_template.jinja"],
] as const;

async function settingsOf(folder: string): Promise<ReadonlyMap<string, Uint8Array>> {
  const found = new Map<string, Uint8Array>();
  for (const name of settingsNames) {
    const bytes = await readSettingsBytes(`${folder}/${name}`);
    if (bytes !== null) found.set(name, bytes);
  }
  return found;
}

/** The model may have more ids than the tokenizer, as vocabularies are rounded up, but not fewer. */
async function tokenizerOf(folder: string, vocabSize: number): Promise<OpenTokenizer> {
  const path = `${folder}/tokenizer.json`;
  if (!await isFile(path)) {
    throw new UserError(`The model in '${folder}' is incomplete: tokenizer.json is missing`, {
      next: await isFile(`${folder}/tokenizer.model`)
        ? "Make it from tokenizer.model: AutoTokenizer.from_pretrained(folder).save_pretrained(folder) in transformers"
        : "Fetch the folder again",
    });
  }
  const tokenizerFile = await readTokenizerBytes(path);
  const beginOfText = await beginOfTextBeside(folder);
  const tokenizer = parseTokenizer(tokenizerFile, { path, endOfText: await endOfTextBeside(folder), beginOfText });
  if (tokenizer.vocabSize <= vocabSize) return { tokenizer, tokenizerFile };
  throw new UserError(
    `The tokenizer in '${folder}' has ids up to ${tokenizer.vocabSize - 1}, and its model has only ${vocabSize}`,
    { next: "Fetch the folder again: the two files must belong together" },
  );
}

type PlaceOf = (tensor: string) => string; // file name

const indexShape = v.object({
  weight_map: v.record(v.string(), v.pipe(v.string(), v.regex(/^\w[\w.-]*$/, "must be a plain file name"))),
});

async function placesOfTensors(folder: string): Promise<PlaceOf> {
  const shaped = await readJsonFile(`${folder}/${indexName}`, indexShape);
  if (shaped === null) return () => weightsName;
  if ("problem" in shaped) {
    throw new UserError(`'${folder}/${indexName}' is damaged (${shaped.problem})`, { next: "Fetch the folder again" });
  }
  const places = new Map(Object.entries(shaped.value.weight_map));
  return (tensor) => places.get(tensor) ?? weightsName;
}

async function readStage(
  spec: StageSpec,
  { folder, fileOf, isTied }: { folder: string; fileOf: PlaceOf; isTied: boolean },
): Promise<Float32Array> {
  const table = parameterTable(spec);
  const files = new Map<string, SafetensorsFile>();
  try {
    const places: (() => Promise<void>)[] = [];
    for (const { name, shape, offset, size } of table.tensors) {
      const stored = isTied && name === headName ? embeddingName : name;
      const place = fileOf(stored);
      const file = files.get(place) ?? await SafetensorsFile.open(`${folder}/${place}`);
      files.set(place, file);
      file.check(stored, shape); // of all tensors, before there is memory for what config.json claims
      places.push(() => file.readInto(stored, { shape, out: vector.subarray(offset, offset + size) }));
    }
    const vector = new Float32Array(table.length); // padding between tensors stays zero
    for (const read of places) await read();
    return vector;
  } finally {
    for (const file of files.values()) file.close();
  }
}
