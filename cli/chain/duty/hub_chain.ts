/**
 * An orchestrator's chain duties: who may join, and the announcement, its only call.
 *
 * Without a chain anyone may join, and nothing is announced; with `admission = "anyone"` the run is announced.
 * Otherwise nodes that lose their place in the subnet are removed.
 */

import type { ChainSigner } from "../../../chain/call.ts";
import { parseEndpoints } from "../../../chain/subtensor/connection/endpoints.ts";
import type { ChainConfig } from "../../../core/config/config.ts";
import type { Admit } from "../../../net/auth/hello.ts";
import { systemRandom, systemTimers } from "../../../net/timers.ts";
import { Announcer } from "./announcer.ts";
import type { Invite } from "../../address/invite.ts";
import type { Output } from "../../terminal/output/output.ts";
import { Admission } from "./admission.ts";
import { connectChain, pause } from "./chain_link.ts";
import { WeightsWatch } from "./weights_file.ts";

interface HubChain {
  readonly admit: Admit;
  onRenewed(listener: () => void): void;
  announce(announced: { invite: Invite; signer: ChainSigner }): void;
  /** Withdraws a finished run's announcement. */
  close(options: { isOver: boolean }): Promise<void>;
}

const noChain: HubChain = {
  admit: () => null,
  onRenewed: () => {},
  announce: () => {},
  close: () => Promise.resolve(),
};

const withdrawMs = 30_000; // two blocks of 12 s
const admissionPauseMs = 5_000; // nobody is admitted before the chain answers, and a node's grace is short

interface HubChainOptions {
  readonly folder: string;
  readonly output: Output;
  readonly tell: (warning: { type: "warning"; text: string }) => void;
  readonly onFailure: (error: unknown) => void;
}

export function openHubChain(
  { network, netuid, admission }: ChainConfig,
  { folder, output, tell, onFailure }: HubChainOptions,
): HubChain {
  if (network === "none") return noChain;
  const stop = new AbortController();
  const onProblem = (text: string) => output.log.warn(`Chain: ${text}`);
  const list = admission === "anyone" ? null : new Admission({ network, netuid, onProblem, onFailure });
  let announcer: Announcer | null = null;
  const connected = connectChain({
    ...{ network, netuid, timers: systemTimers, random: systemRandom, signal: stop.signal, onProblem },
    ...(list === null ? {} : { longestPauseMs: admissionPauseMs, onUnreachable: () => list.chainIsUnreachable() }),
  });
  connected.then((chain) => {
    if (chain === null) return;
    const weights = new WeightsWatch(chain, { folder, timers: systemTimers, warn: onProblem });
    chain.onHead(() => void weights.look());
    if (list === null) return;
    list.follow(chain);
    output.line(`Admits who is registered on subnet ${netuid} at ${chain.endpoint}`);
  }, onFailure);
  const announce = ({ invite, signer }: { invite: Invite; signer: ChainSigner }) => {
    announcer = new Announcer({
      ...{ place: { network, netuid }, isPublic: parseEndpoints(network).isPublic, signer, invite, onFailure },
      onAnnounced: (announced) => output.event({ type: "announced", chain: network, netuid, ...announced }),
      say: (text) => output.line(text),
      warn: onProblem,
      onLost(text) {
        output.event({ type: "announcementLost", chain: network, netuid, text });
        onProblem(text);
        tell({ type: "warning", text });
      },
    });
    const announcing = announcer;
    connected.then((chain) => chain === null ? undefined : announcing.follow(chain), () => {/* told above */});
  };
  const close = async ({ isOver }: { isOver: boolean }) => {
    stop.abort();
    const chain = await connected.catch(() => null);
    if (chain === null) return;
    if (isOver && announcer !== null) {
      const late = new AbortController();
      const patience = pause(withdrawMs, { timers: systemTimers, signal: late.signal });
      await Promise.race([announcer.withdraw(chain).catch(onFailure), patience]).finally(() => late.abort());
    }
    await chain.close();
  };
  return {
    admit: (node) => list?.check(node) ?? null,
    onRenewed: (listener) => {
      if (list !== null) list.onRenewed = listener;
    },
    announce,
    close,
  };
}
