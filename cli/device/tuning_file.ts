/**
 * What `iota bench --tune` found about this machine's adapters: `tuning.json` of the data folder. For another version
 * of the runtime or kernels it counts as missing; a driver's update is not noticed.
 */

import * as v from "valibot";
import { gemmGeneration } from "../../gpu/webgpu/generate/gemm.ts";
import type { GemmChoice } from "../../gpu/webgpu/generate/gemm_settings.ts";
import type { TunedGemms } from "../../gpu/webgpu/tuning/tuned.ts";
import { readIfPresent, realDisk, writeAtomically } from "../files/disk.ts";
import { tuningName } from "../program/paths.ts";

const lanes = v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(1024));
const fours = v.pipe(v.number(), v.integer(), v.minValue(4), v.maxValue(64), v.multipleOf(4));
const vectors = v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(8));

const settings = v.variant("family", [
  v.object({ family: v.literal("direct"), lanes, rows: fours, columnVectors: vectors }),
  v.object({
    ...{ family: v.literal("shared"), lanesX: lanes, lanesY: lanes },
    ...{ depth: fours, rows: fours, columnVectors: vectors },
    sums: v.optional(v.picklist(["vectors", "scalars"])),
  }),
]);

const choice = v.pipe(v.array(settings), v.minLength(1), v.maxLength(8));

const shape = v.object({
  runtime: v.string(),
  generation: v.number(),
  gemms: v.record(v.string(), v.object({ forward: choice, inputGradient: choice, weightGradient: choice })),
});

const current = () => ({ runtime: Deno.version.deno, generation: gemmGeneration });

export async function readTuning(folder: string): Promise<TunedGemms> {
  const bytes = await readIfPresent(`${folder}/${tuningName}`);
  if (bytes === null) return {};
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), shape), new TextDecoder().decode(bytes));
  if (!parsed.success) return {};
  const { runtime, generation, gemms } = parsed.output;
  const { runtime: ours, generation: ourGeneration } = current();
  return runtime === ours && generation === ourGeneration ? gemms : {};
}

export async function keepTuning(
  folder: string,
  { adapter, gemm }: { adapter: string; gemm: GemmChoice },
): Promise<string> {
  return await write(folder, { ...await readTuning(folder), [adapter]: gemm });
}

export async function shareTuning(from: string, to: string): Promise<void> {
  const gemms = await readTuning(from);
  if (from !== to && Object.keys(gemms).length > 0) await write(to, gemms);
}

async function write(folder: string, gemms: TunedGemms): Promise<string> {
  const path = `${folder}/${tuningName}`;
  await realDisk.createFolder(folder);
  const text = `${JSON.stringify({ ...current(), gemms }, null, 2)}\n`;
  await writeAtomically(path, { disk: realDisk, chunks: [new TextEncoder().encode(text)] });
  return path;
}
