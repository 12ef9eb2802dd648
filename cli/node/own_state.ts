/**
 * What a miner keeps of its stage between rounds besides the parameters: the optimizer's vectors and, with error
 * feedback, what its payloads left out.
 */

import type { RunConfig } from "../../core/config/config.ts";
import type { BlobRef, StageIndex } from "../../core/ids.ts";
import { payloadCodecOf } from "../../core/update/payload/payload_codecs.ts";
import type { ParameterTable } from "../../core/model/spec.ts";
import { stateLength } from "../../core/train/optimizer.ts";
import { optimizerOf, optimizers } from "../../core/train/optimizers.ts";
import type { StageCompute } from "../../gpu/compute.ts";

export type VectorName = readonly [name: string, values: number];

export interface OwnState {
  readonly vectors: ReadonlyMap<string, Float32Array>;
  readonly steps: number;
}

/** An earlier round's state missed a merge, because its miner was killed before saving. */
export interface StoredState extends OwnState {
  readonly isEarlier: boolean;
}

export interface StateWanted {
  readonly stage: StageIndex;
  readonly round: number;
  readonly parameters: BlobRef;
  readonly vectors: readonly VectorName[];
}

export interface OwnStateStore {
  save(options: { stage: StageIndex; round: number; parameters: BlobRef; state: OwnState }): Promise<void>;
  stage(): Promise<StageIndex | null>;
  /** Null unless the state has exactly these vectors, in order, and belongs to these parameters or an earlier round. */
  load(wanted: StateWanted): Promise<StoredState | null>;
}

export const emptyState = (config: RunConfig, table: ParameterTable): OwnState => ({
  vectors: new Map(keptVectors(config, table).map(([name, values]) => [name, new Float32Array(values)])),
  steps: 0,
});

export function keptVectors(config: RunConfig, table: ParameterTable): VectorName[] {
  const state = optimizers[optimizerOf(config)].stateVectors(table);
  const kept = state.map((vector): VectorName => [vector.name, stateLength(vector)]);
  const residual = residualName(config);
  return residual === null ? kept : [...kept, [residual, table.length]];
}

/** Null: the codec keeps none. The name has codec and version, since no other can use it. */
function residualName(config: RunConfig): string | null {
  const { keepsResidual, name, version } = payloadCodecOf(config);
  return keepsResidual ? `residual of ${name} ${version}` : null;
}

export async function readOwnState(
  { compute, residual }: { compute: StageCompute; residual: Residual },
  { config, table }: { config: RunConfig; table: ParameterTable },
): Promise<OwnState> {
  const { vectors, steps } = await compute.readOptimizer();
  const name = residualName(config);
  const left: [string, Float32Array][] = name === null
    ? []
    : [[name, residual.settled ?? new Float32Array(table.length)]];
  return { vectors: new Map([...Object.entries(vectors), ...left]), steps };
}

/**
 * Loads the optimizer's part and returns the residual. An earlier round's moments are better than none; its residual
 * belongs to a lost payload.
 */
export async function takeUp(
  { vectors, steps, isEarlier = false }: OwnState & Partial<StoredState>,
  { compute, config }: { compute: StageCompute; config: RunConfig },
): Promise<Residual> {
  const name = residualName(config);
  const ofOptimizer = [...vectors].filter(([each]) => each !== name);
  await compute.loadOptimizer({ vectors: Object.fromEntries(ofOptimizer), steps });
  return new Residual(name === null || isEarlier ? null : vectors.get(name) ?? null);
}

/**
 * What payloads have left out so far, per value of the stage. The orchestrator may ask for a payload twice in a round
 * and must get the same bytes, so a change takes effect only with the merge. A miner is not told how its payload
 * counted: what came too late or was scaled down is lost.
 */
export class Residual {
  #settled: Float32Array | null; // at the round's start
  #open: Float32Array | null = null; // after this round's payload

  constructor(settled: Float32Array | null = null) {
    this.#settled = settled;
  }

  /** Null: zeros, or none is kept. */
  get settled(): Float32Array | null {
    return this.#settled;
  }

  open(values: number): Float32Array {
    this.#open = this.#settled?.slice() ?? new Float32Array(values);
    return this.#open;
  }

  settle(): void {
    this.#settled = this.#open ?? this.#settled;
    this.#open = null;
  }
}
