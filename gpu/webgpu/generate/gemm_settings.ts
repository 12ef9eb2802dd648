/** How a matrix product is cut into workgroups and lanes. Every setting gives the same bits: see gemm.ts. */

import { present } from "../../../core/assert.ts";

/**
 * `forward`: y = x Wᵀ (+ residual); `inputGradient`: dx = dy W; `weightGradient`: dW (+)= dyᵀ x. W is stored (out, in).
 */
export type GemmKind = "forward" | "inputGradient" | "weightGradient";

export const gemmKinds: readonly GemmKind[] = ["forward", "inputGradient", "weightGradient"];

/**
 * `direct` keeps everything in registers: rows come from the workgroup, so that their loads are uniform, and lanes run
 * across columns (software adapters; barriers cost there). `shared` stages tiles through workgroup memory (real GPUs).
 */
export type GemmSettings = DirectGemm | SharedGemm;

export interface DirectGemm {
  readonly family: "direct";
  readonly lanes: number;
  readonly rows: number; // of a lane, as of its workgroup; a multiple of 4
  readonly columnVectors: number; // of a lane: four outputs each
}

export interface SharedGemm {
  readonly family: "shared";
  readonly lanesX: number; // across columns
  readonly lanesY: number; // across rows
  readonly depth: number; // of the tiles of a and b, a multiple of 4
  readonly rows: number; // of a lane, a multiple of 4
  readonly columnVectors: number; // of a lane
  /** How a lane holds its outputs: an H200 adds to scalars faster, if its compiler leaves them apart. @default "vectors" */
  readonly sums?: "vectors" | "scalars" | undefined;
}

/** For each product, settings from the largest tile to the smallest: see `settingsFor`. */
export type GemmChoice = Readonly<Record<GemmKind, readonly GemmSettings[]>>;

export const ofEachKind = (settingsOf: (kind: GemmKind) => readonly GemmSettings[]): GemmChoice => ({
  forward: settingsOf("forward"),
  inputGradient: settingsOf("inputGradient"),
  weightGradient: settingsOf("weightGradient"),
});

export const sameForAll = (...settings: readonly GemmSettings[]): GemmChoice => ofEachKind(() => settings);

const eightRows: GemmSettings = { family: "direct", lanes: 8, rows: 8, columnVectors: 2 };
const sixteenRows: GemmSettings = { ...eightRows, rows: 16 };

/** Measured on llvmpipe (tests/lab/LOG.md). */
export const softwareGemm: GemmChoice = {
  forward: [eightRows],
  inputGradient: [sixteenRows],
  weightGradient: [sixteenRows],
};

const largeTiles: GemmSettings = {
  ...{ family: "shared", lanesX: 16, lanesY: 16, depth: 8 },
  ...{ rows: 8, columnVectors: 2 },
};
/** A little more than the 16 KiB of workgroup memory that every adapter has. */
const deepTiles: GemmSettings = { ...largeTiles, depth: 16, sums: "scalars" };
const middleTiles: GemmSettings = {
  ...{ family: "shared", lanesX: 16, lanesY: 16, depth: 16 },
  ...{ rows: 4, columnVectors: 1 },
};
const smallTiles: GemmSettings = { ...middleTiles, lanesX: 8, lanesY: 8 };

/** Measured on an H200 (tests/lab/LOG.md). All but the first work everywhere; what is fastest differs (../tuning). */
export const hardwareGemm: GemmChoice = sameForAll(deepTiles, largeTiles, middleTiles, smallTiles);

export const fullDevice = 256; // workgroups: two for each processor of the largest GPUs

/** The largest tile whose workgroups fill a device, otherwise the smallest: a larger one does more with each value it reads. */
export function settingsFor(
  choice: readonly GemmSettings[],
  { rows, columns }: { rows: number; columns: number },
): GemmSettings {
  const found = choice.find((settings) => {
    const tile = gemmTile(settings);
    return Math.ceil(rows / tile.rows) * Math.ceil(columns / tile.columns) >= fullDevice;
  }) ?? choice.at(-1);
  return present(found, "each product has a setting");
}

export interface GemmTile {
  readonly rows: number; // outputs per workgroup
  readonly columns: number;
}

export function gemmTile(settings: GemmSettings): GemmTile {
  const { rows, columnVectors } = settings;
  return settings.family === "direct"
    ? { rows, columns: settings.lanes * columnVectors * 4 }
    : { rows: settings.lanesY * rows, columns: settings.lanesX * columnVectors * 4 };
}

/** Vectors that a line of a tile has more than it needs (gemm_shared.ts). */
export const linePadding = 1;

/** What a workgroup takes of an adapter's limits. */
export function gemmNeeds(settings: GemmSettings): { invocations: number; workgroupBytes: number } {
  if (settings.family === "direct") return { invocations: settings.lanes, workgroupBytes: 0 };
  const { rows, columns } = gemmTile(settings);
  return {
    invocations: settings.lanesX * settings.lanesY,
    workgroupBytes: 4 * settings.depth * (rows + columns + 8 * linePadding),
  };
}

export type GemmLimits = Pick<
  GPUSupportedLimits,
  "maxComputeInvocationsPerWorkgroup" | "maxComputeWorkgroupStorageSize"
>;

export function fitsLimits(settings: GemmSettings, limits: GemmLimits): boolean {
  const { invocations, workgroupBytes } = gemmNeeds(settings);
  return invocations <= limits.maxComputeInvocationsPerWorkgroup &&
    workgroupBytes <= limits.maxComputeWorkgroupStorageSize;
}

export const choiceWithin = (choice: GemmChoice, limits: GemmLimits): GemmChoice =>
  ofEachKind((kind) => choice[kind].filter((settings) => fitsLimits(settings, limits)));
