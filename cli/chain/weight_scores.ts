/**
 * Weights as a person gives them: `3:0.5,4:1`, `5F…=0.5`, or a JSON file from hotkey to score. A file may name hotkeys
 * that have left; these are returned, to be reported. With --set they are an error.
 */

import type { Address } from "../../chain/call.ts";
import type { Neuron } from "../../chain/chain.ts";
import { decodeAddress } from "../../chain/wallet/ss58.ts";
import { UsageError, UserError } from "../program/errors.ts";

export interface GivenWeight {
  readonly target: number | Address; // uid or hotkey
  readonly score: number; // only the shares matter
}

export function parseWeightList(text: string): GivenWeight[] {
  return text.split(",").map((part) => part.trim()).filter((part) => part !== "").map((part) => {
    const [, target, score] = /^([^:=]+)[:=](.+)$/.exec(part) ?? [];
    const weight = target === undefined || score === undefined ? null : weightOf(target.trim(), score.trim());
    if (weight !== null) return weight;
    throw new UsageError(
      `Each part of --set must be UID:WEIGHT or HOTKEY=WEIGHT, but one is '${part}'`,
      {
        next: 'Write it like this: --set "3:0.5,4:1"',
      },
    );
  });
}

/** `text`: an object from hotkey (or uid) to score. */
export function parseWeightFile(text: string, path: string): GivenWeight[] {
  const refusal = (rule: string) =>
    new UserError(`Cannot read the weights in ${path}: ${rule}`, {
      next: 'Write it like this: {"5F…": 0.5, "5G…": 1}',
    });
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw refusal(`it is not JSON: ${error instanceof Error ? error.message : error}`);
  }
  if (typeof json !== "object" || json === null || Array.isArray(json)) {
    throw refusal("it is not an object from hotkey to score");
  }
  return Object.entries(json).map(([target, score]) => {
    const weight = typeof score === "number" ? weightOf(target, String(score)) : null;
    if (weight !== null) return weight;
    throw refusal(
      `each score must be a number of at least 0 under a hotkey, but '${target}' has ${JSON.stringify(score)}`,
    );
  });
}

function weightOf(target: string, text: string): GivenWeight | null {
  const score = /^(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(text) ? Number(text) : NaN;
  if (!Number.isFinite(score)) return null;
  if (/^\d{1,5}$/.test(target)) return { target: Number(target), score };
  return decodeAddress(target) === null ? null : { target, score };
}

interface PlacedWeights {
  readonly scores: readonly { readonly uid: number; readonly score: number }[];
  readonly missing: readonly (number | Address)[];
}

export function placeWeights(weights: readonly GivenWeight[], neurons: readonly Neuron[]): PlacedWeights {
  const uids = new Map<number | Address, number>(neurons.flatMap(({ uid, hotkey }) => [[uid, uid], [hotkey, uid]]));
  const scores = weights.flatMap(({ target, score }) => {
    const uid = uids.get(target);
    return uid === undefined ? [] : [{ uid, score }];
  });
  return { scores, missing: weights.filter(({ target }) => !uids.has(target)).map(({ target }) => target) };
}
