/**
 * CLASP: each miner's effect on the loss, in nats per token. A microbatch takes a random path, one miner per stage; a
 * miner's pathways are compared with the others of its stage:
 *
 *     plain    mean loss of the miner's pathways - mean over the stage
 *     paired   mean of (loss - reference) - median over the stage; the reference is the same text's loss on another
 *              path, which removes the text's difficulty, nearly all of the variance
 *
 * In the plain form, stage-mates of a harmful miner look better than average, because they never share its path.
 * Effects are statistics and prove nothing. A loss counts as `mostLoss` at most, so one absurd claim moves a mean by at
 * most mostLoss / samples. Memory per place is constant.
 */

import { present } from "../../assert.ts";
import type { NodeId, StageIndex } from "../../ids.ts";
import { addTo, type Moments, noMoments, pooledVariance } from "./moments.ts";

/** `loss`: mean nats per token. */
export interface PathwayLoss {
  readonly miners: readonly NodeId[]; // by stage
  readonly loss: number;
  /** The same microbatch on another path; null: not measured. */
  readonly reference: number | null;
}

export interface ClaspEffect {
  readonly stage: StageIndex;
  readonly miner: NodeId;
  readonly samples: number;
  readonly effect: number; // nats per token; positive: harmful
  readonly standardError: number | null; // null: too few samples
}

interface ClaspOptions {
  readonly form: "plain" | "paired";
  readonly stages: number;
  readonly mostLoss: number;
  readonly mostPlaces?: number;
}

/** A miner that has moved has several. */
interface Place {
  readonly stage: StageIndex;
  readonly miner: NodeId;
  readonly index: number;
  readonly moments: Moments;
}

export interface ClaspBook {
  readonly options: Required<ClaspOptions>;
  readonly places: Map<string, Place>;
  samples: number;
  refused: number; // not a loss, no reference, or too many places
}

const defaultMostPlaces = 512;

export function openClasp(options: ClaspOptions): ClaspBook {
  return { options: { mostPlaces: defaultMostPlaces, ...options }, places: new Map(), samples: 0, refused: 0 };
}

/** Null: refused. */
function valueOf(
  { form, mostLoss }: Pick<ClaspOptions, "form" | "mostLoss">,
  { loss, reference }: { readonly loss: number; readonly reference: number | null },
): number | null {
  if (!isLoss(loss)) return null;
  if (form === "plain") return Math.min(loss, mostLoss);
  return reference === null || !isLoss(reference) ? null : Math.min(loss, mostLoss) - Math.min(reference, mostLoss);
}

const isLoss = (loss: number): boolean => Number.isFinite(loss) && loss >= 0;

/** The places by stage; null: refused. */
export function addPathway(book: ClaspBook, sample: PathwayLoss): { places: Place[]; value: number } | null {
  const value = valueOf(book.options, sample);
  const isWhole = sample.miners.length === book.options.stages;
  if (value === null || !isWhole || !hasRoom(book, sample.miners)) {
    book.refused += 1;
    return null;
  }
  const places = sample.miners.map((miner, stage) => placeOf(book, stage as StageIndex, miner));
  for (const { moments } of places) addTo(moments, value);
  book.samples += 1;
  return { places, value };
}

const keyOf = (stage: number, miner: NodeId): string => `${stage} ${miner}`;

function hasRoom({ places, options }: ClaspBook, miners: readonly NodeId[]): boolean {
  const added = miners.filter((miner, stage) => !places.has(keyOf(stage, miner))).length;
  return places.size + added <= options.mostPlaces;
}

function placeOf({ places }: ClaspBook, stage: StageIndex, miner: NodeId): Place {
  const key = keyOf(stage, miner);
  const known = places.get(key);
  if (known !== undefined) return known;
  const place = { stage, miner, index: places.size, moments: noMoments() };
  places.set(key, place);
  return place;
}

/** In order of first appearance. */
export function effectsOf(book: ClaspBook): ClaspEffect[] {
  const ofStages = Array.from({ length: book.options.stages }, (_, stage) => stageOf(book, stage));
  return [...book.places.values()].map(({ stage, miner, index }) =>
    present(ofStages[stage]?.get(index), `stage ${stage} has the effect of ${miner}`)
  );
}

function stageOf({ places, options: { form } }: ClaspBook, stage: number): Map<number, ClaspEffect> {
  const mates = [...places.values()].filter((place) => place.stage === stage);
  const means = mates.map(({ moments }) => moments.mean);
  const centre = form === "plain" ? meanOf(means) : medianOf(means);
  const variance = pooledVariance(mates.map(({ moments }) => moments));
  const ofMeans = mates.reduce((sum, { moments: { count } }) => sum + 1 / count, 0);
  return new Map(mates.map(({ miner, index, moments: { count, mean } }) => {
    const effect = mean - centre;
    const parts = contrast({ count, mates: mates.length, ofMeans });
    const standardError = variance === null ? null : Math.sqrt(variance * parts);
    return [index, { stage: stage as StageIndex, miner, samples: count, effect, standardError }];
  }));
}

/** The variance of (own mean - mean of the stage's means), in variances of a sample. */
function contrast({ count, mates, ofMeans }: { count: number; mates: number; ofMeans: number }): number {
  if (mates === 1) return 1 / count;
  const others = ofMeans - 1 / count;
  return (1 - 1 / mates) ** 2 / count + others / mates ** 2;
}

const meanOf = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}
