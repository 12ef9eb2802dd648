/**
 * What a miner keeps of its stage from round to round besides the parameters: the optimizer's vectors and, if the
 * payload codec uses error feedback, what its payloads left out.
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
  readonly steps: number; // of the optimizer
}

/** A stored state; one of an earlier round missed a merge, as its miner was killed before it could save. */
export interface StoredState extends OwnState {
  readonly isEarlier: boolean;
}

/** What a stage is about to begin with, and which state would fit. */
export interface StateWanted {
  readonly stage: StageIndex;
  readonly round: number;
  readonly parameters: BlobRef;
  readonly vectors: readonly VectorName[];
}

export interface OwnStateStore {
  save(options: { stage: StageIndex; round: number; parameters: BlobRef; state: OwnState }): Promise<void>;
  stage(): Promise<StageIndex | null>;
  /** Null unless the state belongs to these parameters, or to an earlier round, and has these vectors, in this order. */
  load(wanted: StateWanted): Promise<StoredState | null>;
}

/** Of a stage that nothing was trained in. */
export const emptyState = (config: RunConfig, table: ParameterTable): OwnState => ({
  vectors: new Map(keptVectors(config, table).map(([name, values]) => [name, new Float32Array(values)])),
  steps: 0,
});

/** What the run's optimizer and payload codec keep of a stage. */
export function keptVectors(config: RunConfig, table: ParameterTable): VectorName[] {
  const state = optimizers[optimizerOf(config)].stateVectors(table);
  const kept = state.map((vector): VectorName => [vector.name, stateLength(vector)]);
  const residual = residualName(config);
  return residual === null ? kept : [...kept, [residual, table.length]];
}

/** Null if the codec keeps none. Names codec and version, since no other can use it. */
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
 * Resumes with a saved state: loads the optimizer's part into the device and returns the rest. The moments of an earlier round
 * are used rather than none; a residual belongs to the payload that followed it, which was lost.
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
 * What a miner's payloads have left out so far, one value for each value of the stage. The orchestrator may ask for a
 * payload twice in a round and must get the same bytes, so what a payload leaves out takes effect only when the round
 * is merged. A stage that is loaded anew starts without a residual. A miner is not told how its payload counted, so
 * what came too late or was scaled down is lost.
 */
export class Residual {
  #settled: Float32Array | null; // as the round began
  #open: Float32Array | null = null; // after this round's payload

  constructor(settled: Float32Array | null = null) {
    this.#settled = settled;
  }

  /** As of the last merge; null: zeros, or none is kept. */
  get settled(): Float32Array | null {
    return this.#settled;
  }

  /** The codec writes to it. */
  open(values: number): Float32Array {
    this.#open = this.#settled?.slice() ?? new Float32Array(values);
    return this.#open;
  }

  /** Changes nothing if this miner made no payload. */
  settle(): void {
    this.#settled = this.#open ?? this.#settled;
    this.#open = null;
  }
}
