/**
 * The way to the chain of a run: named, then connected, however long that takes.
 *
 * Owns: trying again until an endpoint answers; afterwards the connection looks after itself. The client is loaded here, when
 * somebody wants a chain: it takes a quarter second and 100 MB that runs without one are spared.
 */

import { callLifeBlocks, type Chain, ChainError, type ChainFacts } from "../../chain/chain.ts";
import { reconnectDelayMs } from "../../chain/subtensor/connection/backoff.ts";
import { parseEndpoints } from "../../chain/subtensor/connection/endpoints.ts";
import type { Random, Timers } from "../../net/timers.ts";

// A call whose answer was lost is followed, and sent again, for as long as it may land.
const inclusionWaitMs = callLifeBlocks * 15_000; // blocks of 12 s, and some that are late

export interface ChainLinkOptions {
  readonly network: string; // of ChainConfig, not "none"
  readonly netuid: number;
  readonly timers: Timers;
  readonly random: Random;
  readonly signal: AbortSignal; // ends the trying
  /** Also hears, now and then, why no endpoint answers yet. */
  readonly onProblem: (text: string) => void;
  /** Hears before the first pause that no endpoint answers yet. */
  readonly onUnreachable?: () => void;
  /** The longest pause between attempts, where someone waits for the answer. Default: as long as the endpoint may want. */
  readonly longestPauseMs?: number;
  /** Hears when no endpoint can be reached any more, and null when one can again. Default: it is a problem. */
  readonly onOutage?: (problem: string | null) => void;
}

/** Null: the signal came first. Rejects with a `ChainError` when the network's name is none. */
export const connectChain = (options: ChainLinkOptions): Promise<Chain | null> =>
  tryUntil(options, (chain) => Promise.resolve(chain));

/** As `connectChain`, for who needs to know which chain it is: an endpoint that cannot say so is left for the next. */
export const connectKnownChain = (options: ChainLinkOptions): Promise<{ chain: Chain; facts: ChainFacts } | null> =>
  tryUntil(options, async (chain) => ({ chain, facts: await chain.facts() }));

async function tryUntil<T>(options: ChainLinkOptions, greet: (chain: Chain) => Promise<T>): Promise<T | null> {
  const { network, netuid, timers, random, signal, onProblem } = options;
  const endpoints = parseEndpoints(network);
  const { SubtensorChain } = await import("../../chain/subtensor/subtensor_chain.ts");
  for (let failures = 1; !signal.aborted; failures++) {
    let chain: Chain | null = null;
    try {
      const dice = () => random.unit();
      chain = await SubtensorChain.connect({ endpoints, netuid, timers, dice, inclusionWaitMs });
      const greeted = await greet(chain);
      chain.onOutage?.(
        options.onOutage ?? ((problem) => problem !== null && onProblem(`${problem}; trying again until it can be`)),
      );
      if (!signal.aborted) return greeted;
      await chain.close();
    } catch (error) {
      if (!(error instanceof ChainError)) throw error;
      await chain?.close();
      const { isPublic } = endpoints;
      const delayMs = reconnectDelayMs({ failures, isPublic, isRateLimited: false, dice: random.unit() });
      options.onUnreachable?.();
      if (isWorthSaying(failures)) onProblem(`${error.message}; trying again until it answers`);
      await pause(Math.min(delayMs, options.longestPauseMs ?? Infinity), options);
    }
  }
  return null;
}

/** The 1st, 2nd, 4th, 8th, … failure: at first each, later one in many. */
const isWorthSaying = (failures: number): boolean => Number.isInteger(Math.log2(failures));

/** Resolves after this time, or at once when the signal is aborted. */
export function pause(delayMs: number, { timers, signal }: Pick<ChainLinkOptions, "timers" | "signal">): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  const { promise, resolve } = Promise.withResolvers<void>();
  const cancel = timers.after(delayMs, resolve);
  const onAbort = () => resolve();
  signal.addEventListener("abort", onAbort, { once: true });
  return promise.finally(() => {
    cancel();
    signal.removeEventListener("abort", onAbort);
  });
}
