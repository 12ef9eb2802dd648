/**
 * A Hugging Face folder as a model: config.json, tokenizer.json, and tensors in model.safetensors or in the shards that
 * model.safetensors.index.json names.
 */

import * as v from "valibot";
import { embeddingName, headName, parameterTable, type StageSpec } from "../../../core/model/spec.ts";
import { readIfPresent } from "../../files/disk.ts";
import { UserError } from "../../program/errors.ts";
import { parseTokenizer } from "../data/tokenizer_file.ts";
import { SafetensorsFile } from "../tensors/safetensors.ts";
import { configName, readLlamaConfig } from "./llama_config.ts";
import type { ModelSource } from "./model_source.ts";

export const weightsName = "model.safetensors";
export const indexName = "model.safetensors.index.json";

export async function openLlamaFolder(folder: string): Promise<ModelSource> {
  const { plan, layersOfStages, isTied } = readLlamaConfig(await textOf(folder, configName), `${folder}/${configName}`);
  const fileOf = await placesOfTensors(folder);
  return {
    ...{ path: folder, trained: null, plan, layersOfStages, isTied },
    tokenizer: parseTokenizer(await textOf(folder, "tokenizer.json"), `${folder}/tokenizer.json`),
    readStage: (spec) => readStage(spec, { folder, fileOf, isTied }),
  };
}

async function textOf(folder: string, name: string): Promise<string> {
  const bytes = await readIfPresent(`${folder}/${name}`);
  if (bytes !== null) return new TextDecoder().decode(bytes);
  throw new UserError(`The model in '${folder}' is incomplete: ${name} is missing`, { next: "Fetch the folder again" });
}

type PlaceOf = (tensor: string) => string; // file name

const indexShape = v.object({
  weight_map: v.record(v.string(), v.pipe(v.string(), v.regex(/^\w[\w.-]*$/, "must be a plain file name"))),
});

async function placesOfTensors(folder: string): Promise<PlaceOf> {
  const bytes = await readIfPresent(`${folder}/${indexName}`);
  if (bytes === null) return () => weightsName;
  const shaped = v.safeParse(v.pipe(v.string(), v.parseJson(), indexShape), new TextDecoder().decode(bytes));
  if (!shaped.success) {
    const [issue] = shaped.issues;
    throw new UserError(`'${folder}/${indexName}' is damaged (${v.getDotPath(issue) ?? "JSON"}: ${issue.message})`, {
      next: "Fetch the folder again",
    });
  }
  const places = new Map(Object.entries(shaped.output.weight_map));
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
