/**
 * What each form of CLASP needs to find cheating miners, as rows: swarms are drawn from each seed's measurements and take more
 * samples, by the same factor each time, until the mean AUC over all of them is good enough.
 */

import { present } from "../../../../core/assert.ts";
import { deviationOf, meanOf } from "../sample_moments.ts";
import type { Damage } from "./measure_damage.ts";
import { type Form, forms, openTrial, type Ranking, swarm, type World } from "./simulate.ts";

export interface ClaspRow {
  readonly attack: string;
  readonly form: Form;
  readonly damage: number; // mean nats per token of a cheating miner's pathway
  readonly samplesNeeded: number | null; // until the AUC is `wantedAuc`; null: more than `mostSamples`
  readonly shareOfPlain: number | null; // of the samples that the plain form needs, or of `mostSamples` where these do not suffice
  readonly aucAtPaired: number | null; // with the samples that the form paired by a swap needs
  readonly flaggedHonest: number; // share of honest miners, over all these samples
}

export const wantedAuc = 0.99;
export const mostSamples = 400_000;
const fewestSamples = 50;
const growth = 1.25;
const trialsPerSeed = 4;

/** A form's AUC after each number of samples. */
interface Curve {
  readonly points: readonly { readonly samples: number; readonly auc: number; readonly flaggedHonest: number }[];
  readonly needed: number | null;
}

export const attackNames = (damages: readonly Damage[]): string[] => damages[0]!.attacks.map(({ name }) => name);

/** Every form against one attack; `nobody` cheats: only what honest miners are called. */
export function rowsOf(damages: readonly Damage[], attack: string | null): ClaspRow[] {
  const worlds = damages.flatMap((damage, seed) =>
    Array.from({ length: trialsPerSeed }, (_, trial): World => ({
      damage,
      damages: damage.attacks.find(({ name }) => name === attack)?.damages ?? [],
      seed: seed * trialsPerSeed + trial,
    }))
  );
  const curves = new Map(forms.map((form) => [form, curveOf(form, worlds)]));
  const plain = present(curves.get("plain"), "plain is a form").needed;
  const swapped = present(curves.get("paired by a swap"), "a swap is a form").needed;
  return [...curves].map(([form, { points, needed }]) => ({
    ...{ attack: attack ?? "nobody cheats", form },
    damage: meanOf(worlds.flatMap((world) => world.damages.length === 0 ? [0] : world.damages)),
    samplesNeeded: needed,
    shareOfPlain: attack === null || needed === null ? null : needed / (plain ?? mostSamples),
    aucAtPaired: swapped === null ? null : points.findLast(({ samples }) => samples <= swapped)?.auc ?? null,
    flaggedHonest: Math.max(...points.map((point) => point.flaggedHonest)),
  }));
}

function curveOf(form: Form, worlds: readonly World[]): Curve {
  const trials = worlds.map((world) => openTrial(form, world));
  const isHonest = worlds.every(({ damages }) => damages.length === 0);
  const most = isHonest ? 4000 : mostSamples;
  const points: { samples: number; auc: number; flaggedHonest: number }[] = [];
  for (
    let samples = fewestSamples, before = 0;
    samples <= most;
    before = samples, samples = Math.ceil(samples * growth)
  ) {
    const rankings = trials.map((trial): Ranking => {
      trial.run(samples - before);
      return trial.rank();
    });
    const auc = meanOf(rankings.map((ranking) => ranking.auc ?? 0.5));
    points.push({ samples, auc, flaggedHonest: meanOf(rankings.map((ranking) => ranking.flaggedHonest)) });
    if (auc >= wantedAuc) return { points, needed: samples };
  }
  return { points, needed: null };
}

export interface Measurements {
  readonly loss: number; // of a microbatch, nats per token; the other three are standard deviations of microbatches' losses
  readonly deviation: number;
  readonly pathDeviation: number;
  readonly replicaDeviation: number;
}

/** Means over seeds. */
export function measurementsOf(damages: readonly Damage[]): Measurements {
  const mean = (of: (damage: Damage) => number) => meanOf(damages.map(of));
  return {
    loss: mean(({ losses }) => meanOf(losses)),
    deviation: mean(({ losses }) => deviationOf(losses)),
    pathDeviation: mean(({ pathDeviation }) => pathDeviation),
    replicaDeviation: mean(({ replicaDeviation }) => replicaDeviation),
  };
}

export function damageText(damages: readonly Damage[]): string {
  const { loss, deviation, pathDeviation, replicaDeviation } = measurementsOf(damages);
  return `Measured: loss of a microbatch ${loss.toFixed(3)} nats per token, deviation ${deviation.toFixed(4)}; ` +
    `of another path on the same microbatch ${pathDeviation.toFixed(4)}, ` +
    `of another replica of one stage ${replicaDeviation.toFixed(4)}. ` +
    `Simulated with these: ${swarm.stages} stages of ${swarm.mates} miners, ${100 * swarm.cheats} % of them cheating`;
}
