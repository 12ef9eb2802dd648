/**
 * Connects to a run's chain, however long that takes. The client takes a quarter second and 100 MB, so it is loaded on
 * demand.
 */

import { callLifeBlocks, type Chain, ChainError, type ChainFacts } from "../../../chain/chain.ts";
import { reconnectDelayMs } from "../../../chain/subtensor/connection/timers.ts";
import { parseEndpoints } from "../../../chain/subtensor/connection/endpoints.ts";
import type { Random, Timers } from "../../../net/timers.ts";
import { chainSocketOptions } from "../../program/outbound.ts";

// Follows and resends a call whose answer was lost, for as long as it may land.
const inclusionWaitMs = callLifeBlocks * 15_000; // some 12 s blocks are late

interface ChainLinkOptions {
  readonly network: string; // never "none"
  readonly netuid: number;
  readonly timers: Timers;
  readonly random: Random;
  readonly signal: AbortSignal;
  /** At growing intervals. */
  readonly onProblem: (text: string) => void;
  readonly onUnreachable?: () => void;
  /** Shorter for callers that others wait for. @default the endpoint's back-off */
  readonly longestPauseMs?: number;
  /** Null: reachable again. @default reported as a problem */
  readonly onOutage?: (problem: string | null) => void;
}

/** Null: the signal came first. Rejects with a `ChainError` if the network's name is invalid. */
export const connectChain = (options: ChainLinkOptions): Promise<Chain | null> =>
  tryUntil(options, (chain) => Promise.resolve(chain));

/** Skips endpoints that cannot say which chain they serve. */
export const connectKnownChain = (options: ChainLinkOptions): Promise<{ chain: Chain; facts: ChainFacts } | null> =>
  tryUntil(options, async (chain) => ({ chain, facts: await chain.facts() }));

async function tryUntil<T>(options: ChainLinkOptions, greet: (chain: Chain) => Promise<T>): Promise<T | null> {
  const { network, netuid, timers, random, signal, onProblem } = options;
  const endpoints = parseEndpoints(network);
  const { SubtensorChain } = await import("../../../chain/subtensor/subtensor_chain.ts");
  for (let failures = 1; !signal.aborted; failures++) {
    let chain: Chain | null = null;
    try {
      const dice = () => random.unit();
      chain = await SubtensorChain.connect({
        endpoints,
        netuid,
        timers,
        dice,
        inclusionWaitMs,
        socketOptions: chainSocketOptions,
      });
      const greeted = await greet(chain);
      chain.onOutage?.(
        options.onOutage ?? ((problem) => problem !== null && onProblem(`${problem}; retrying`)),
      );
      if (!signal.aborted) return greeted;
      await chain.close();
    } catch (error) {
      if (!(error instanceof ChainError)) throw error;
      await chain?.close();
      const { isPublic } = endpoints;
      const delayMs = reconnectDelayMs({ failures, isPublic, isRateLimited: false, dice: random.unit() });
      options.onUnreachable?.();
      if (isWorthSaying(failures)) onProblem(`${error.message}; retrying until it answers`);
      await pause(Math.min(delayMs, options.longestPauseMs ?? Infinity), options);
    }
  }
  return null;
}

/** Failures 1, 2, 4, 8, … */
const isWorthSaying = (failures: number): boolean => Number.isInteger(Math.log2(failures));

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
