/**
 * A checkpoint cut into another number of stages. Tensors keep their names and bits, outer momentum too, so the model is
 * the same. That needs stages that exchange everything: parameters of a lossy boundary belong to its place.
 */

import type { RunConfig } from "../../../core/config/config.ts";
import { beyondLlama } from "../../../core/model/plain.ts";
import { parameterTable, type StageSpec, stageSpecs } from "../../../core/model/spec.ts";
import { splitLayers } from "../../../core/model/stages.ts";
import { assert, present } from "../../../core/assert.ts";
import { type FoundCheckpoint, readMomentum, readStage, type StageVectors, writeCheckpoint } from "./checkpoint.ts";

export const canRestage = (from: RunConfig, to: RunConfig): boolean =>
  beyondLlama(from) === null && beyondLlama(to) === null;

/** The old folder is put aside, the new one takes its name. */
export async function restage(
  { folder, manifest }: FoundCheckpoint,
  { checkpoints, config, warn }: { checkpoints: string; config: RunConfig; warn: (text: string) => void },
): Promise<FoundCheckpoint> {
  assert(canRestage(manifest.config, config), "Only plain models are cut into other stages");
  const { runId, round, step, microbatch, tokenizerHash, datasetHash } = manifest;
  const from = stageSpecs(manifest.config, splitLayers(manifest.config));
  const parameters = new TensorsOf(from, (spec) => readStage(requestOf(folder, spec)));
  const momenta = manifest.momentumHashes.length === 0
    ? null
    : new TensorsOf(from, async (spec) => present(await readMomentum(requestOf(folder, spec)), "all stages have it"));
  async function* stages(): AsyncGenerator<StageVectors> {
    for (const spec of stageSpecs(config, splitLayers(config))) {
      const table = parameterTable(spec);
      const vectors = { table, parameters: await parameters.vectorOf(spec) };
      yield momenta === null ? vectors : { ...vectors, momentum: await momenta.vectorOf(spec) };
    }
  }
  const state = { runId, round, step, microbatch, tokenizerHash, datasetHash, config };
  await writeCheckpoint({ folder: checkpoints, state, stages: stages(), warn });
  return { folder, manifest: { ...manifest, config } };
}

const requestOf = (folder: string, spec: StageSpec) => ({
  folder,
  stage: spec.index,
  table: parameterTable(spec),
});

/** Tensors by name, of stages that are read one at a time. */
class TensorsOf {
  readonly #read: (spec: StageSpec) => Promise<Float32Array>;
  readonly #places = new Map<string, { spec: StageSpec; offset: number }>();
  #held: { spec: StageSpec; vector: Float32Array } | null = null;

  constructor(specs: readonly StageSpec[], read: (spec: StageSpec) => Promise<Float32Array>) {
    this.#read = read;
    for (const spec of specs) {
      for (const { name, offset } of parameterTable(spec).tensors) this.#places.set(name, { spec, offset });
    }
  }

  async vectorOf(spec: StageSpec): Promise<Float32Array> {
    const table = parameterTable(spec);
    const vector = new Float32Array(table.length); // padding between tensors stays zero
    for (const { name, offset, size } of table.tensors) {
      const place = present(this.#places.get(name), `The checkpoint has no tensor '${name}'`);
      if (this.#held?.spec !== place.spec) {
        this.#held = { spec: place.spec, vector: await this.#read(place.spec) };
      }
      vector.set(this.#held.vector.subarray(place.offset, place.offset + size), offset);
    }
    return vector;
  }
}
