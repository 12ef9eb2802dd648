/**
 * The validators' weights on a run's chain, in `chain/weights.json` of the run's folder: those with most stake, and
 * each one's largest weights. An orchestrator or a swarm writes it, a dashboard reads it; a failed write costs only the
 * display.
 */

import * as v from "valibot";
import type { Chain } from "../../../chain/chain.ts";
import type { Timers } from "../../../net/timers.ts";
import { realDisk, writeAtomically } from "../../files/disk.ts";

const shareShape = v.object({ hotkey: v.string(), share: v.number() });
const weightsShape = v.object({
  block: v.number(),
  atMs: v.number(),
  validators: v.array(v.object({ hotkey: v.string(), setAtBlock: v.number(), weights: v.array(shareShape) })),
});

/** Shares of a validator's weights, the largest first; `setAtBlock`: its last set or commit. */
export type ChainWeights = v.InferOutput<typeof weightsShape>;

const mostValidators = 16;
const mostWeights = 64; // of each
const weightsPath = (folder: string): string => `${folder}/chain/weights.json`;

export async function readChainWeights(chain: Chain, nowMs: number): Promise<ChainWeights> {
  const { block, neurons } = await chain.metagraph();
  const hotkeys = new Map(neurons.map(({ uid, hotkey }) => [uid, hotkey]));
  const validators = neurons.filter(({ hasPermit }) => hasPermit)
    .sort((a, b) => a.stakeRao === b.stakeRao ? a.uid - b.uid : a.stakeRao > b.stakeRao ? -1 : 1)
    .slice(0, mostValidators);
  const rows: ChainWeights["validators"] = [];
  for (const { uid, hotkey, lastUpdateBlock: setAtBlock } of validators) {
    const row = await chain.weightsOf({ uid, mechanism: 0 });
    const sum = row.reduce((total, { value }) => total + value, 0);
    const shares = row.flatMap(({ uid: target, value }) => {
      const hotkey = hotkeys.get(target);
      return hotkey === undefined || value === 0 ? [] : [{ hotkey, share: value / sum }];
    });
    const weights = shares.sort((a, b) => b.share - a.share || (a.hotkey < b.hotkey ? -1 : 1)).slice(0, mostWeights);
    rows.push({ hotkey, setAtBlock, weights });
  }
  return { block, atMs: nowMs, validators: rows };
}

export async function keepChainWeights(folder: string, weights: ChainWeights): Promise<void> {
  await Deno.mkdir(`${folder}/chain`, { recursive: true });
  const bytes = new TextEncoder().encode(JSON.stringify(weights));
  await writeAtomically(weightsPath(folder), { disk: realDisk, chunks: [bytes] });
}

export async function keptChainWeights(folder: string): Promise<ChainWeights | null> {
  try {
    const { success, output } = v.safeParse(weightsShape, JSON.parse(await Deno.readTextFile(weightsPath(folder))));
    return success ? output : null;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof SyntaxError) return null;
    throw error;
  }
}

const lookMs = 60_000;

interface WeightsWatchOptions {
  readonly folder: string;
  readonly timers: Timers;
  readonly warn: (text: string) => void;
}

export class WeightsWatch {
  readonly #chain: Chain;
  readonly #options: WeightsWatchOptions;
  #lookAtMs = -Infinity; // steady
  #isFailing = false;

  constructor(chain: Chain, options: WeightsWatchOptions) {
    this.#chain = chain;
    this.#options = options;
  }

  /** At most once a minute. */
  async look(): Promise<void> {
    const { folder, timers, warn } = this.#options;
    if (timers.steadyMs() < this.#lookAtMs) return;
    this.#lookAtMs = timers.steadyMs() + lookMs;
    try {
      await keepChainWeights(folder, await readChainWeights(this.#chain, timers.nowMs()));
      this.#isFailing = false;
    } catch (error) {
      if (!this.#isFailing) {
        warn(`The dashboard shows no new weights: ${error instanceof Error ? error.message : error}`);
      }
      this.#isFailing = true;
    }
  }
}
