/** Which settings of a matrix product are worth measuring on an adapter. */

import { present } from "../../../core/assert.ts";
import {
  fitsLimits,
  type GemmChoice,
  type GemmKind,
  type GemmLimits,
  type GemmSettings,
  gemmTile,
  hardwareGemm,
  ofEachKind,
  type SharedGemm,
  softwareGemm,
} from "../generate/gemm_settings.ts";

export interface GemmRoom {
  readonly isSoftware: boolean;
  readonly limits: GemmLimits;
}

/** The default comes first. Barriers cost too much on software adapters, so tiles are left out there. */
export function gemmCandidates(kind: GemmKind, room: GemmRoom): GemmSettings[] {
  const fits = (settings: GemmSettings) => fitsLimits(settings, room.limits);
  const first = present(standardChoice(room)[kind].find(fits), "each product has a setting that works everywhere");
  const others = room.isSoftware ? softwareCandidates() : hardwareCandidates();
  return [first, ...others.filter((each) => fits(each) && !isSame(each, first))];
}

const standardChoice = ({ isSoftware }: Pick<GemmRoom, "isSoftware">) => isSoftware ? softwareGemm : hardwareGemm;

/** The fastest for products that fill the device; smaller ones keep the defaults with smaller tiles. */
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

/** What eight-lane registers can hold, and a little more. */
const softwareCandidates = (): GemmSettings[] =>
  [[4, 2], [8, 1], [8, 2], [16, 1], [16, 2], [4, 4]].map(([rows = 8, columnVectors = 1]) => ({
    ...{ family: "direct", lanes: 8, rows, columnVectors } as const,
  }));

/** From 32 to 256 invocations, 16 to 64 outputs each; without barriers for products of few workgroups. */
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
