/**
 * The chain of a hub: who may join, by the run's settings.
 *
 * A run without a chain, or one that says so, takes anyone. Otherwise the hub reads the subnet for as long as it lives, and who has
 * lost its place there is sent away; it never sends a call.
 */

import type { ChainConfig } from "../../core/config/config.ts";
import type { Admit } from "../../net/hello.ts";
import { systemRandom, systemTimers } from "../../net/timers.ts";
import type { Output } from "../output.ts";
import { Admission } from "./admission.ts";
import { connectChain } from "./chain_link.ts";

export interface HubChain {
  readonly admit: Admit;
  /** Hears that the list of who may take part was read again. */
  onRenewed(listener: () => void): void;
  close(): Promise<void>;
}

const openToAnyone: HubChain = { admit: () => null, onRenewed: () => {}, close: () => Promise.resolve() };

export function openHubChain(
  { network, netuid, admission }: ChainConfig,
  { output, onFailure }: { output: Output; onFailure: (error: unknown) => void },
): HubChain {
  if (network === "none" || admission === "anyone") return openToAnyone;
  const stop = new AbortController();
  const onProblem = (text: string) => output.log.warn(`Chain: ${text}`);
  const list = new Admission({ network, netuid, onProblem, onFailure });
  const connected = connectChain({
    ...{ network, netuid, timers: systemTimers, random: systemRandom, signal: stop.signal, onProblem },
  });
  connected.then((chain) => {
    if (chain === null) return;
    list.follow(chain);
    output.line(`Admits who is registered on subnet ${netuid} at ${chain.endpoint}`);
  }, onFailure);
  const close = async () => {
    stop.abort();
    const chain = await connected.catch(() => null); // its failure has been told
    await chain?.close();
  };
  return { admit: (node) => list.check(node), onRenewed: (listener) => list.onRenewed = listener, close };
}
