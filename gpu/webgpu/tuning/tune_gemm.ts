/** Finds the fastest settings of matrix products on this adapter. */

import type { LinearSizes } from "../../stage_ops.ts";
import type { GpuDevice } from "../device.ts";
import {
  choiceWith,
  gemmCandidates,
  type GemmChoice,
  type GemmKind,
  gemmKinds,
  type GemmSettings,
} from "../generate/gemm_settings.ts";
import { openProducts, type Product } from "./gemm_products.ts";
import { Stopwatch } from "./stopwatch.ts";

interface Fastest<Settings> {
  readonly best: Settings;
  readonly defaultMs: number; // over all places
  readonly bestMs: number;
  readonly tried: number;
  readonly wrong: number; // faster but not exact
}

interface Trials<Settings> {
  readonly places: number; // at least one
  milliseconds(settings: Settings, place: number): Promise<number>;
  isExact(settings: Settings): Promise<boolean>;
}

const leastGain = 0.03;
const hopeless = 2; // times the best at the first place

export async function fastestExact<Settings>(
  [standard, ...others]: readonly Settings[],
  trials: Trials<Settings>,
): Promise<Fastest<Settings>> {
  if (standard === undefined) throw new Error("The default setting is among the candidates");
  const defaultTimes = await timesOf(standard, trials, Infinity);
  const defaultMs = defaultTimes.all;
  let bestFirstMs = defaultTimes.first;
  const faster: { settings: Settings; ms: number }[] = [];
  for (const settings of others) {
    const { first, all } = await timesOf(settings, trials, hopeless * bestFirstMs);
    bestFirstMs = Math.min(bestFirstMs, first);
    if (all < (1 - leastGain) * defaultMs) faster.push({ settings, ms: all });
  }
  const tried = 1 + others.length;
  let wrong = 0;
  for (const { settings, ms } of faster.toSorted((a, b) => a.ms - b.ms)) {
    if (await trials.isExact(settings)) return { best: settings, defaultMs, bestMs: ms, tried, wrong };
    wrong += 1;
  }
  return { best: standard, defaultMs, bestMs: defaultMs, tried, wrong };
}

/** `all`: infinite if the first place took too long. */
async function timesOf<Settings>(
  settings: Settings,
  { places, milliseconds }: Trials<Settings>,
  mostFirstMs: number,
): Promise<{ first: number; all: number }> {
  const first = await milliseconds(settings, 0);
  if (first > mostFirstMs) return { first, all: Infinity };
  let all = first;
  for (let place = 1; place < places; place++) all += await milliseconds(settings, place);
  return { first, all };
}

export interface TuneRequest {
  readonly shapes: readonly LinearSizes[]; // y = x Wᵀ of each
}

interface TunedProduct extends Fastest<GemmSettings> {
  readonly kind: GemmKind;
}

export interface GemmTuning {
  readonly products: readonly TunedProduct[];
  readonly isOnDevice: boolean; // timed by the device
}

export function choiceOf({ products }: GemmTuning, { isSoftware }: { isSoftware: boolean }): GemmChoice {
  const best = Object.fromEntries(products.map(({ kind, best }) => [kind, best]));
  return choiceWith(best as Record<GemmKind, GemmSettings>, { isSoftware });
}

const oddShape: LinearSizes = { rows: 84, inWidth: 76, outWidth: 108 }; // fills no tile
const runs = 3;
const shortestMs = 10; // so that the timer's grain does not count

export async function tuneGemm(gpu: GpuDevice, { shapes }: TuneRequest): Promise<GemmTuning> {
  const room = { isSoftware: gpu.adapter.isSoftware, limits: gpu.device.limits };
  const stopwatch = new Stopwatch(gpu);
  const measured = shapes.map((sizes) => openProducts(gpu, sizes));
  const all = [...measured, openProducts(gpu, oddShape)];
  try {
    const products: TunedProduct[] = [];
    for (const kind of gemmKinds) {
      const fastest = await fastestExact(gemmCandidates(kind, room), {
        places: measured.length,
        milliseconds: async (settings, place) => {
          return await shortest(stopwatch, await measured[place]!.built({ kind, settings }));
        },
        isExact: async (settings) => {
          for (const product of all) if (!await product.isExact({ kind, settings })) return false;
          return true;
        },
      });
      products.push({ kind, ...fastest });
    }
    return { products, isOnDevice: stopwatch.isOnDevice };
  } finally {
    stopwatch.close();
    for (const each of all) each.close();
  }
}

async function shortest(stopwatch: Stopwatch, program: Product): Promise<number> {
  let best = await stopwatch.milliseconds(program, 1);
  const times = Math.max(1, Math.ceil(shortestMs / Math.max(0.01, best)));
  for (let i = 0; i < runs; i++) best = Math.min(best, await stopwatch.milliseconds(program, times));
  return best;
}
