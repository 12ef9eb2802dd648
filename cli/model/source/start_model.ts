/**
 * A model as the start of a new run (`--from`): the settings that come with it, a name for its parameters, and the run's
 * first parameters.
 *
 * Tensors of blocks, embedding, head and norm go over by name. A boundary's go over if the run has the same codec and
 * width before the same layer; all others start random, as in any new run.
 */

import { basename, dirname, resolve } from "node:path";
import { presets, type SizeName, sizeNames } from "../../../core/config/size.ts";
import type { RunConfig } from "../../../core/config/config.ts";
import type { KnobValue } from "../../../core/config/knob.ts";
import type { StartModel } from "../../../core/ledger/entry.ts";
import { isSameWire } from "../../../core/codec/wire.ts";
import { fillInitial } from "../../../core/model/initial.ts";
import { beyondLlama } from "../../../core/model/plain.ts";
import { modelParameters, type ModelShape } from "../../../core/model/shape.ts";
import { parameterTable, type ParameterTensor, type StageSpec, stageSpecs } from "../../../core/model/spec.ts";
import { splitLayers } from "../../../core/model/stages.ts";
import type { ModelSettings } from "../../../core/settings/parse.ts";
import { sha256Hex, sha256InTurns } from "../../files/file_entry.ts";
import { UserError } from "../../program/errors.ts";
import type { StageVectors } from "../checkpoint/checkpoint.ts";
import { bytesOf } from "../tensors/safetensors.ts";
import { type ModelSource, stagesOf } from "./model_source.ts";

/** Of the folder that `--from` names; of a checkpoint also its run's. */
export function startName(path: string): string {
  const full = resolve(path);
  const parent = dirname(full);
  return basename(parent) === "checkpoints" ? `${basename(dirname(parent))}/${basename(full)}` : basename(full);
}

/** A model that a new run begins with. */
export interface RunStart {
  readonly name: string;
  readonly source: ModelSource;
}

/** `usual`: the size whose rates and batches suit, and the context that the model is used to. */
export function settingsOf(source: ModelSource, size: SizeName | null): ModelSettings {
  const { plan: { model }, trained, tokenizer } = source;
  if (tokenizer.vocabSize > model.vocabSize) {
    throw new UserError(
      `'${source.path}' has a tokenizer of ${tokenizer.vocabSize} tokens, and embeddings for only ${model.vocabSize}`,
      { next: "Put the model's own tokenizer.json back" },
    );
  }
  const { contextLength, ...shape } = model;
  const fixed: Record<string, KnobValue> = {};
  for (const [key, value] of Object.entries(shape)) fixed[`model.${key}`] = value;
  const usualSize = size ?? (trained === null ? nearestSize(model) : trained.config.size as SizeName);
  const usualContext = trained === null
    ? Math.min(contextLength, presets[usualSize]["model.contextLength"])
    : contextLength;
  return { fixed, usual: { size: usualSize, "model.contextLength": usualContext } };
}

function nearestSize(model: ModelShape): SizeName {
  const distance = (name: SizeName) => Math.abs(Math.log(modelParameters(model) / modelParameters(shapeOf(name))));
  return sizeNames.reduce((best, name) => distance(name) < distance(best) ? name : best);
}

function shapeOf(name: SizeName): ModelShape {
  const preset = presets[name];
  return {
    vocabSize: preset["model.vocabSize"],
    width: preset["model.width"],
    layers: preset["model.layers"],
    heads: preset["model.heads"],
    kvHeads: preset["model.kvHeads"],
    ffnWidth: preset["model.ffnWidth"],
    contextLength: preset["model.contextLength"],
    ropeBase: preset["model.ropeBase"],
    normEpsilon: 0,
  };
}

/** As the signed log has it. Reads the whole model. */
export async function identify({ name: ofModel, source }: RunStart): Promise<StartModel> {
  const lines: string[] = [];
  for (const spec of partsOf(source)) {
    const vector = await source.readStage(spec);
    for (const { name, offset, size } of parameterTable(spec).tensors) {
      lines.push(`${await sha256InTurns([bytesOf(vector.subarray(offset, offset + size))])}  ${name}\n`);
    }
  }
  const sorted = lines.toSorted((a, b) => a.slice(64) < b.slice(64) ? -1 : 1);
  return { name: ofModel, parameters: sha256Hex(sorted.join("")) };
}

/** A Llama in a folder is read a layer at a time: nothing but names says where it could be cut. */
function partsOf(source: ModelSource): StageSpec[] {
  const isOnePiece = source.trained === null && beyondLlama(source.plan) === null;
  const layersOfStages = isOnePiece ? new Array<number>(source.plan.model.layers).fill(1) : source.layersOfStages;
  const { contextLength } = source.plan.model;
  return stagesOf({ plan: source.plan, layersOfStages }, { sequences: 1, contextLength });
}

interface Place {
  readonly part: number; // of the source
  readonly tensor: ParameterTensor;
}

/** By the tensor's name in the new run. */
function placesIn(parts: readonly StageSpec[], specs: readonly StageSpec[]): Map<string, Place> {
  const renamed = new Map<string, string>(); // beginnings of boundaries' names, source to run
  for (const [number, spec] of specs.entries()) {
    const same = parts.findIndex((part) => part.firstLayer === spec.firstLayer && isSameWire(part.wireIn, spec.wireIn));
    if (same > 0) renamed.set(`model.boundary.${same}.`, `model.boundary.${number}.`);
  }
  const places = new Map<string, Place>();
  for (const [part, spec] of parts.entries()) {
    for (const tensor of parameterTable(spec).tensors) {
      const [boundary] = /^model\.boundary\.\d+\./.exec(tensor.name) ?? [];
      const own = boundary === undefined ? "" : renamed.get(boundary);
      if (own !== undefined) places.set(own + tensor.name.slice(boundary?.length ?? 0), { part, tensor });
    }
  }
  return places;
}

/** Of boundaries: those that the model does not have. */
export function freshTensors(source: ModelSource, config: RunConfig): ParameterTensor[] {
  const specs = stageSpecs(config, splitLayers(config));
  const places = placesIn(partsOf(source), specs);
  return specs.flatMap((spec) => parameterTable(spec).tensors.filter(({ name }) => !places.has(name)));
}

/** The run's stages, head to tail; one part of the source is held beside them. */
export async function* firstParameters(source: ModelSource, config: RunConfig): AsyncGenerator<StageVectors> {
  const parts = partsOf(source);
  const specs = stageSpecs(config, splitLayers(config));
  const places = placesIn(parts, specs);
  const held = { part: -1, vector: new Float32Array() };
  for (const spec of specs) {
    const table = parameterTable(spec);
    const parameters = new Float32Array(table.length);
    const fresh = table.tensors.filter(({ name }) => !places.has(name));
    fillInitial({ ...table, tensors: fresh }, { seed: config.seed, first: 0 }, parameters);
    const copied = table.tensors.flatMap(({ name, offset }) => {
      const place = places.get(name);
      return place === undefined ? [] : [{ ...place, offset }];
    });
    for (const { part, tensor, offset } of copied.toSorted((a, b) => a.part - b.part)) {
      if (held.part !== part) Object.assign(held, { part, vector: await source.readStage(parts[part]!) });
      parameters.set(held.vector.subarray(tensor.offset, tensor.offset + tensor.size), offset);
    }
    yield { table, parameters };
  }
}
