/**
 * Registers a node on its own chain before it dials a typed orchestrator, so that the printed join line admits a fresh
 * wallet.
 *
 * What registration does not give, such as a validator's permit, is awaited unless the orchestrator admits the node
 * without it. An unreadable chain keeps no node away.
 */

import { type Chain, ChainError } from "../../../chain/chain.ts";
import { pause } from "../../chain/duty/chain_link.ts";
import { unlessAborted } from "../../program/aborted.ts";
import type { NamedChain } from "../../terminal/options/named_chain.ts";
import type { SearchWorld } from "./run_search.ts";

export interface EnrolFirstOptions {
  readonly chain: NamedChain;
  /** Returns what is still missing, or null. */
  readonly prepare: (chain: Chain) => Promise<string | null>;
  readonly isAdmitted: () => Promise<boolean>;
  readonly onWaiting: (why: string) => void;
  readonly onUnread: (why: string) => void;
  readonly giveUpAfterMs: number | null;
  readonly onGivenUp: (why: string) => Error;
  readonly signal: AbortSignal;
}

const lookEveryMs = 2_000;

export async function enrolFirst(
  world: Pick<SearchWorld, "openChain" | "isPublic" | "timers">,
  options: EnrolFirstOptions,
): Promise<void> {
  const { chain: { network }, onUnread, signal } = options;
  if (network === "none" || world.isPublic(network)) return;
  const work = enrol(world, options).catch((error) => {
    if (!(error instanceof ChainError)) throw error;
    onUnread(error.message);
  });
  await unlessAborted(signal, work);
}

async function enrol(
  { openChain, timers }: Pick<SearchWorld, "openChain" | "timers">,
  { chain: named, prepare, isAdmitted, onWaiting, giveUpAfterMs, onGivenUp, signal }: EnrolFirstOptions,
): Promise<void> {
  const chain = await openChain(named);
  const startMs = timers.steadyMs();
  let said: string | null = null;
  try {
    while (!signal.aborted) {
      const missing = await prepare(chain);
      if (missing === null || await isAdmitted()) return;
      if (giveUpAfterMs !== null && timers.steadyMs() - startMs >= giveUpAfterMs) throw onGivenUp(missing);
      if (missing !== said) onWaiting(missing);
      said = missing;
      await pause(lookEveryMs, { timers, signal });
    }
  } finally {
    await chain.close();
  }
}
