/** How a matrix product is cut into workgroups and lanes. Every setting gives the same bits. */

import { present } from "../../../core/assert.ts";

/**
 * `forward`: y = x Wᵀ (+ residual); `inputGradient`: dx = dy W; `weightGradient`: dW (+)= dyᵀ x. W is stored (out, in).
 */
export type GemmKind = "forward" | "inputGradient" | "weightGradient";

export const gemmKinds: readonly GemmKind[] = ["forward", "inputGradient", "weightGradient"];

/**
 * `direct` keeps everything in registers: a workgroup's lanes share rows and run across columns (software adapters:
 * barriers cost there). `shared` stages tiles through workgroup memory (real GPUs).
 */
export type GemmSettings = DirectGemm | SharedGemm;

export interface DirectGemm {
  readonly family: "direct";
  readonly lanes: number;
  readonly rows: number; // per lane and workgroup; a multiple of 4
  readonly columnVectors: number; // per lane: four outputs each
}

export interface SharedGemm {
  readonly family: "shared";
  readonly lanesX: number; // across columns
  readonly lanesY: number; // across rows
  readonly depth: number; // of both tiles, a multiple of 4
  readonly rows: number; // per lane, a multiple of 4
  readonly columnVectors: number; // per lane
  /** Of a lane's outputs: an H200 adds to scalars faster. @default "vectors" */
  readonly sums?: "vectors" | "scalars" | undefined;
}

/** From the largest tile to the smallest. */
export type GemmChoice = Readonly<Record<GemmKind, readonly GemmSettings[]>>;

const ofEachKind = (settingsOf: (kind: GemmKind) => readonly GemmSettings[]): GemmChoice => ({
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

/** Measured on an H200 (tests/lab/LOG.md). All but the first work everywhere. */
export const hardwareGemm: GemmChoice = sameForAll(deepTiles, largeTiles, middleTiles, smallTiles);

export const fullDevice = 256; // workgroups: two per processor of the largest GPUs

/** The largest tile that fills a device, otherwise the smallest: larger tiles reuse more. */
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

interface GemmTile {
  readonly rows: number; // outputs per workgroup
  readonly columns: number;
}

export function gemmTile(settings: GemmSettings): GemmTile {
  const { rows, columnVectors } = settings;
  return settings.family === "direct"
    ? { rows, columns: settings.lanes * columnVectors * 4 }
    : { rows: settings.lanesY * rows, columns: settings.lanesX * columnVectors * 4 };
}

/** Spare vectors in a line of a tile (gemm_shared.ts). */
export const linePadding = 1;

function gemmNeeds(settings: GemmSettings): { invocations: number; workgroupBytes: number } {
  if (settings.family === "direct") return { invocations: settings.lanes, workgroupBytes: 0 };
  const { rows, columns } = gemmTile(settings);
  return {
    invocations: settings.lanesX * settings.lanesY,
    workgroupBytes: 4 * settings.depth * (rows + columns + 8 * linePadding),
  };
}

type GemmLimits = Pick<
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

interface GemmRoom {
  readonly isSoftware: boolean;
  readonly limits: GemmLimits;
}

/** The default first. Without tiles on software adapters, where barriers cost. */
export function gemmCandidates(kind: GemmKind, room: GemmRoom): GemmSettings[] {
  const fits = (settings: GemmSettings) => fitsLimits(settings, room.limits);
  const first = present(standardChoice(room)[kind].find(fits), "each product has a setting that works everywhere");
  const others = room.isSoftware ? softwareCandidates() : hardwareCandidates();
  return [first, ...others.filter((each) => fits(each) && !isSame(each, first))];
}

const standardChoice = ({ isSoftware }: Pick<GemmRoom, "isSoftware">) => isSoftware ? softwareGemm : hardwareGemm;

/** Smaller products keep the defaults with smaller tiles. */
export function choiceWith(
  best: Readonly<Record<GemmKind, GemmSettings>>,
  room: Pick<GemmRoom, "isSoftware">,
): GemmChoice {
  const outputs = (settings: GemmSettings) => gemmTile(settings).rows * gemmTile(settings).columns;
  return ofEachKind((kind) => [
    best[kind],
    ...standardChoice(room)[kind].filter((settings) => outputs(settings) < outputs(best[kind])),
  ]);
}

const isSame = (a: GemmSettings, b: GemmSettings): boolean =>
  JSON.stringify(Object.entries(a).sort()) === JSON.stringify(Object.entries(b).sort());

/** What eight-lane registers hold, and a little more. */
const softwareCandidates = (): GemmSettings[] =>
  [[4, 2], [8, 1], [8, 2], [16, 1], [16, 2], [4, 4]].map(([rows = 8, columnVectors = 1]) => ({
    ...{ family: "direct", lanes: 8, rows, columnVectors } as const,
  }));

/** 32 to 256 invocations, 16 to 64 outputs each; without barriers for small products. */
function hardwareCandidates(): GemmSettings[] {
  const lanes = [[8, 4], [8, 8], [16, 8], [16, 16]];
  const outputs = [[4, 1], [4, 2], [8, 1], [8, 2]];
  const shared = lanes.flatMap(([lanesX = 8, lanesY = 8]) =>
    outputs.flatMap(([rows = 4, columnVectors = 1]) =>
      [8, 16].map((depth): SharedGemm => ({ family: "shared", lanesX, lanesY, depth, rows, columnVectors }))
    )
  );
  const direct = [[32, 4], [32, 8], [64, 8]].map(([lanes = 32, rows = 4]): GemmSettings => ({
    ...{ family: "direct", lanes, rows, columnVectors: 1 },
  }));
  const scalars = shared.filter(({ rows, columnVectors }) => rows * columnVectors >= 8)
    .map((settings): SharedGemm => ({ ...settings, sums: "scalars" }));
  return [...shared, ...scalars, ...direct];
}
