/**
 * A validator's stages on its device: opened on demand, the least recently used closed first, so a device with room for
 * one stage serves a run of any number.
 *
 * An untrained stage takes its parameters, a gradient to discard, and one task's work; only parameters and gradients
 * count here.
 */

import type { RunConfig } from "../../../core/config/config.ts";
import { type ParameterTable, parameterTable, type StageSpec } from "../../../core/model/spec.ts";
import { moveBy } from "../../../core/update/shown_change.ts";
import type { ParameterSource, ReplaySource } from "../../../core/protocol/message.ts";
import { sourceName } from "../../../core/statements/statement.ts";
import type { StageCompute } from "../../../gpu/compute.ts";
import { BlobError } from "../../../net/blobs/blobs.ts";
import { workInTurns } from "../../../net/turns.ts";
import type { BlobAccess } from "../../roles/blob_access.ts";
import type { ComputeHost, HostedStage } from "../../device/compute_host.ts";
import { KeptVectors } from "./kept_vectors.ts";
import { loadSource } from "./stage_source.ts";
import { payloadCodecOf } from "../../../core/update/payload/payload_codecs.ts";
import { bytesOfFloats } from "../../../core/model/vector_bytes.ts";
import { nameOf } from "../../../net/blob_hash.ts";
import { mergeStage } from "./merge_work.ts";

export interface HeldStage {
  readonly spec: StageSpec;
  readonly compute: HostedStage;
}

interface OpenStage extends HeldStage {
  readonly table: ParameterTable;
  readonly bytes: number;
  holds: string | null;
}

const usualBytes = 4 * 2 ** 30;

export class HeldStages {
  readonly #device: ComputeHost;
  readonly #blobs: BlobAccess;
  readonly #bytes: number;
  readonly #vectors = new KeptVectors();
  readonly #open = new Map<string, OpenStage>(); // least recently used first

  /** `memoryBytes`: for all kept stages; one stays open whatever its size. */
  constructor({ device, blobs, memoryBytes = usualBytes }: {
    device: ComputeHost;
    blobs: BlobAccess;
    memoryBytes?: number | undefined;
  }) {
    this.#device = device;
    this.#blobs = blobs;
    this.#bytes = memoryBytes;
  }

  /** The next call may close the stage. */
  async at(
    spec: StageSpec,
    { config, source }: { config: RunConfig; source: ReplaySource },
  ): Promise<HeldStage> {
    const stage = await this.#opened(spec);
    const wanted = sourceName(source);
    if (stage.holds !== wanted) {
      stage.holds = null; // until all of it is there
      const load = async (compute: StageCompute) => {
        await compute.loadParameters(await this.#parameters(stage, { config, source }));
      };
      stage.compute.begin?.(load);
      await load(stage.compute);
      stage.holds = wanted;
    }
    return stage;
  }

  close(): void {
    for (const { compute } of this.#open.values()) compute.close();
    this.#open.clear();
    this.#vectors.clear();
  }

  async #parameters(
    { spec, table }: OpenStage,
    { config, source }: { config: RunConfig; source: ReplaySource },
  ): Promise<Float32Array> {
    const blobs = this.#blobs;
    const from = source.type === "moved" ? source.from : source;
    const nameAt = (name: string) => name === "initial" ? `initial ${placeOf(spec)}` : name;
    const start = await this.#vectors.get(nameAt(sourceName(from)), async () => {
      const before = from.type === "blobs" && from.merge ? this.#vectors.known(nameAt(from.merge.from)) : undefined;
      const followed = before === undefined ? null : await followMerge(before, { config, source: from, blobs });
      return followed ?? (await loadSource({ config, source: from, table, blobs, parametersOnly: true })).parameters;
    });
    if (source.type !== "moved") return start;
    const parameters = start.slice();
    const isMoved = await workInTurns(moveBy(parameters, await blobs.get(source.change)));
    if (!isMoved) {
      throw new BlobError("wrongHash", `Cannot repeat a task: ${source.change.hash} is not a change of its stage`);
    }
    return parameters;
  }

  async #opened(spec: StageSpec): Promise<OpenStage> {
    const place = placeOf(spec);
    const known = this.#open.get(place);
    this.#open.delete(place);
    if (known !== undefined) {
      this.#open.set(place, known);
      return known;
    }
    const table = parameterTable(spec);
    const bytes = 2 * 4 * table.length;
    this.#makeRoom(bytes);
    const compute = await this.#device.openStage(spec, { optimizer: null });
    const stage: OpenStage = { spec, table, compute, bytes, holds: null };
    this.#open.set(place, stage);
    return stage;
  }

  #makeRoom(bytes: number): void {
    let taken = this.#open.values().reduce((sum, stage) => sum + stage.bytes, bytes);
    for (const [place, stage] of this.#open) {
      if (taken <= this.#bytes) return;
      stage.compute.close();
      this.#open.delete(place);
      taken -= stage.bytes;
    }
  }
}

const placeOf = ({ index, firstLayer, layerCount }: StageSpec): string => `${index} ${firstLayer} ${layerCount}`;

/** Null: the merge does not lead from these parameters to the source's. */
async function followMerge(
  before: Float32Array,
  { config, source, blobs }: { config: RunConfig; source: ParameterSource; blobs: BlobAccess },
): Promise<Float32Array | null> {
  if (source.type === "initial" || source.merge === undefined) return null;
  try {
    const { parameters } = await mergeStage({
      start: { parameters: before, momentum: null },
      slices: source.merge.slices,
      outer: config.outer,
      codec: payloadCodecOf(config),
      blobs,
    });
    return (await nameOf(bytesOfFloats(parameters))).hash === source.parameters.hash ? parameters : null;
  } catch (error) {
    if (error instanceof BlobError) return null;
    throw error;
  }
}
