/**
 * How many samples each form of CLASP needs to rank the cheating miners of a swarm above the honest ones.
 *
 * Pathways are drawn; their losses come from the damage that was measured on a real model (measure_damage.ts): the loss of a
 * measured microbatch, the damage of each cheating miner on its path to that microbatch, and the noise of honest replicas. AUC is
 * the share of pairs of a cheating and an honest miner in which the cheating one has the larger effect; a miner that no sample met
 * has none. Whose task is computed a second time is the validator's choice, so swaps go through all miners in turn.
 */

import { type NodeId, nodeId } from "../../../../core/ids.ts";
import { keyOf, nextUint32, openStream, type Stream } from "../../../../core/prng.ts";
import { addPathway, type ClaspEffect, effectsOf, openClasp } from "../../../../core/score/clasp/clasp.ts";
import { certainty } from "../../../../core/score/clasp/sample_size.ts";
import type { Damage } from "./measure_damage.ts";

export const swarm = { stages: 5, mates: 10, cheats: 0.2 };
const mostLoss = 20;

export const forms = [
  "plain",
  "paired with a second path",
  "paired by a swap",
] as const;
export type Form = typeof forms[number];

export interface Ranking {
  readonly auc: number | null; // null: nobody cheats
  readonly flaggedHonest: number; // share of honest miners whose harm is called certain
}

export interface World {
  readonly damage: Pick<Damage, "losses" | "replicaDeviation" | "pathDeviation">;
  readonly damages: readonly number[]; // of the attack; none: nobody cheats
  readonly seed: number;
}

/** A swarm under one form, which takes more samples each time it is asked. */
export interface Trial {
  run(samples: number): void;
  rank(): Ranking;
}

export function openTrial(form: Form, world: World): Trial {
  if (form === "paired by a swap") return openSwapTrial(world);
  const book = openClasp({ form: form === "plain" ? "plain" : "paired", stages: swarm.stages, mostLoss });
  const draws = drawsOf(world);
  return {
    run(samples) {
      for (let i = 0; i < samples; i++) addPathway(book, draws.pathway());
    },
    rank: () => rankingOf(effectsOf(book), world),
  };
}

/** A swap measures one miner, as all others are on both paths: each stage has a book of its own, of paths of one miner. */
function openSwapTrial(world: World): Trial {
  const books = Array.from({ length: swarm.stages }, () => openClasp({ form: "paired", stages: 1, mostLoss }));
  const draws = drawsOf(world);
  return {
    run(samples) {
      for (let i = 0; i < samples; i++) {
        const { stage, miner, ...losses } = draws.swap();
        addPathway(books[stage]!, { miners: [miner], ...losses });
      }
    },
    rank: () => rankingOf(books.flatMap(effectsOf), world),
  };
}

const minerOf = (stage: number, place: number): NodeId => nodeId(`${stage}.${place}`);

/** The first places of every stage cheat. */
const isCheat = (miner: NodeId, { damages }: World): boolean =>
  damages.length > 0 && Number(miner.split(".")[1]) < swarm.cheats * swarm.mates;

function drawsOf(world: World) {
  const { damage, damages, seed } = world;
  const stream = openStream(keyOf(seed, "clasp"));
  const below = (count: number) => Math.floor(nextUint32(stream) / 2 ** 32 * count);
  const harmTo = (microbatch: number, miners: readonly NodeId[]) =>
    miners.filter((miner) => isCheat(miner, world)).length * (damages[microbatch] ?? 0);
  let swaps = 0;
  const ofPath = damage.pathDeviation / Math.SQRT2; // the difference of two paths has the noise of both
  return {
    pathway() {
      const microbatch = below(damage.losses.length);
      const miners = Array.from({ length: swarm.stages }, (_, stage) => minerOf(stage, below(swarm.mates)));
      const text = damage.losses[microbatch]!;
      const loss = Math.max(0, text + harmTo(microbatch, miners) + ofPath * gauss(stream));
      return { miners, loss, reference: Math.max(0, text + ofPath * gauss(stream)) };
    },
    swap() {
      const microbatch = below(damage.losses.length);
      const place = swaps++ % (swarm.stages * swarm.mates);
      const stage = place % swarm.stages;
      const miner = minerOf(stage, Math.floor(place / swarm.stages));
      const reference = damage.losses[microbatch]!;
      const loss = Math.max(0, reference + harmTo(microbatch, [miner]) + damage.replicaDeviation * gauss(stream));
      return { stage, miner, loss, reference };
    },
  };
}

/** Box and Muller's method. */
function gauss(stream: Stream): number {
  const radius = Math.sqrt(-2 * Math.log((nextUint32(stream) + 1) / 2 ** 32));
  return radius * Math.cos(2 * Math.PI * nextUint32(stream) / 2 ** 32);
}

function rankingOf(effects: readonly ClaspEffect[], world: World): Ranking {
  const all = everyone(effects);
  const cheats = all.filter(({ miner }) => isCheat(miner, world));
  const honest = all.filter(({ miner }) => !isCheat(miner, world));
  const certain = honest.filter(({ effect, standardError }) =>
    standardError !== null && effect > certainty * standardError
  );
  return { auc: areaOf(cheats, honest), flaggedHonest: certain.length / honest.length };
}

type MinerEffect = Pick<ClaspEffect, "miner" | "effect" | "standardError">;

function everyone(effects: readonly ClaspEffect[]): MinerEffect[] {
  const known = new Map(effects.map((effect) => [effect.miner, effect]));
  return Array.from({ length: swarm.stages * swarm.mates }, (_, i) => {
    const miner = minerOf(i % swarm.stages, Math.floor(i / swarm.stages));
    return known.get(miner) ?? { miner, effect: 0, standardError: null };
  });
}

function areaOf(cheats: readonly MinerEffect[], honest: readonly MinerEffect[]): number | null {
  if (cheats.length === 0) return null;
  let above = 0;
  for (const { effect } of cheats) {
    for (const other of honest) above += effect > other.effect ? 1 : effect === other.effect ? 0.5 : 0;
  }
  return above / (cheats.length * honest.length);
}
