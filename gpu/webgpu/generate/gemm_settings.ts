/** How a matrix product is cut into workgroups and lanes. Every setting gives the same bits: see gemm.ts. */

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
}

/** One setting for each product. */
export type GemmChoice = Readonly<Record<GemmKind, GemmSettings>>;

export const sameForAll = (settings: GemmSettings): GemmChoice => ({
  forward: settings,
  inputGradient: settings,
  weightGradient: settings,
});

const eightRows: GemmSettings = { family: "direct", lanes: 8, rows: 8, columnVectors: 2 };
const sixteenRows: GemmSettings = { ...eightRows, rows: 16 };

/** Measured on llvmpipe (tests/bench/LOG.md). */
export const softwareGemm: GemmChoice = { forward: eightRows, inputGradient: sixteenRows, weightGradient: sixteenRows };

const smallTiles: GemmSettings = {
  ...{ family: "shared", lanesX: 8, lanesY: 8, depth: 16 },
  ...{ rows: 4, columnVectors: 1 },
};

/** Works everywhere; what is fastest differs from GPU to GPU (../tuning). */
export const hardwareGemm: GemmChoice = sameForAll(smallTiles);

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

/** What a workgroup takes of an adapter's limits. */
export function gemmNeeds(settings: GemmSettings): { invocations: number; workgroupBytes: number } {
  if (settings.family === "direct") return { invocations: settings.lanes, workgroupBytes: 0 };
  const { rows, columns } = gemmTile(settings);
  return { invocations: settings.lanesX * settings.lanesY, workgroupBytes: 4 * settings.depth * (rows + columns) };
}
