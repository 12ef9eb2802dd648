/**
 * Whether the chain answers, how old its newest block is, and whether the hotkey is in the subnet. Also samples the
 * endpoint's clock. polkadot-js is loaded only if a chain was named.
 */

import { ChainError } from "../../../chain/chain.ts";
import { parseEndpoints } from "../../../chain/subtensor/connection/endpoints.ts";
import type { SubtensorChain } from "../../../chain/subtensor/subtensor_chain.ts";
import { systemRandom, systemTimers } from "../../../net/timers.ts";
import { chainSocketOptions, outboundFetch } from "../../program/outbound.ts";
import { nodeCommand } from "../../chain/text/chain_words.ts";
import type { NamedChain } from "../../terminal/options/named_chain.ts";
import { duration, roughly } from "../../terminal/text/format.ts";
import { type ClockSample, sampleOfBlock, sampleOfDate } from "./clock_check.ts";
import { good, skipped, type Verdict, warning, wrong } from "./verdict.ts";
import { hotkeyExists, loadHotkey, othersMayRead } from "../../../chain/wallet/hotkey_files.ts";
import { type HotkeyPair, selfTest } from "../../../chain/wallet/hotkey.ts";
import { hotkeyPath } from "../../../chain/wallet/wallet_place.ts";
import type { CommandContext } from "../../terminal/command.ts";
import { shellWord } from "../../program/shell_words.ts";
import { explaining, findHotkey } from "../../terminal/options/wallet_options.ts";

const oldestHeadMs = 60_000;
const oldestHeadBlocks = 6;

interface ChainTarget extends NamedChain {
  readonly hotkey: Promise<string | null>; // null: unknown
  readonly deadlineMs: number;
}

interface ChainProbe {
  readonly verdict: Verdict;
  readonly clock: ClockSample | null;
}

export const noChain: ChainProbe = { verdict: skipped("none named: --chain finney --netuid 9"), clock: null };

export async function probeChain(target: ChainTarget): Promise<ChainProbe> {
  const { network, netuid, deadlineMs } = target;
  if (network === "none") return { verdict: skipped("the run has none"), clock: null };
  const endpoints = parseEndpoints(network);
  const date = dateOf(endpoints.urls[0]!, deadlineMs);
  try {
    const { SubtensorChain } = await import("../../../chain/subtensor/subtensor_chain.ts");
    const startMs = performance.now();
    const limits = { callDeadlineMs: deadlineMs, patienceMs: deadlineMs };
    const chain = await SubtensorChain.connect({
      ...{
        endpoints,
        netuid,
        timers: systemTimers,
        dice: systemRandom.unit,
        ...limits,
        socketOptions: chainSocketOptions,
      },
    });
    const connectMs = performance.now() - startMs;
    try {
      const facts = await readFacts(chain, { connectMs, hotkey: await target.hotkey });
      const { endpoint, headAgeMs, blockMs } = facts;
      return { verdict: judgeChain(facts), clock: await date ?? sampleOfBlock({ by: endpoint, headAgeMs, blockMs }) };
    } finally {
      await chain.close();
    }
  } catch (error) {
    if (!(error instanceof ChainError)) throw error;
    const fix = error.code === "badAnswer"
      ? "Check --netuid and --chain"
      : "Check --chain and the network, or start your own chain: iota chain local";
    return { verdict: wrong(error.message, fix, { network, netuid }), clock: await date };
  }
}

interface ChainFactsSeen {
  readonly endpoint: string;
  readonly netuid: number;
  readonly block: number;
  readonly headAgeMs: number;
  readonly blockMs: number;
  readonly connectMs: number;
  readonly hotkey: string | null;
  readonly uid: number | null; // null: not registered, or no hotkey
}

async function readFacts(
  chain: SubtensorChain,
  { connectMs, hotkey }: { connectMs: number; hotkey: string | null },
): Promise<ChainFactsSeen> {
  const { netuid, endpoint } = chain;
  const [{ block, timeMs }, { blockMs }, { neurons }] = await Promise.all([
    chain.blockTime(),
    chain.parameters(),
    chain.metagraph(), // the only read that fails without the subnet
  ]);
  const uid = neurons.find((neuron) => neuron.hotkey === hotkey)?.uid ?? null;
  const headAgeMs = Math.round(Date.now() - timeMs);
  return { endpoint, netuid, block, headAgeMs, blockMs, connectMs: Math.round(connectMs), hotkey, uid };
}

export function judgeChain(facts: ChainFactsSeen): Verdict {
  const { endpoint, netuid, block, headAgeMs, blockMs, connectMs, hotkey, uid } = facts;
  const shown = { ...facts };
  if (headAgeMs > Math.max(oldestHeadMs, oldestHeadBlocks * blockMs)) {
    const text = `${endpoint} answers, but its newest block is ${roughly(headAgeMs)} old`;
    return wrong(text, "Pass another endpoint with --chain, unless the clock above is wrong", shown);
  }
  const text = `${endpoint}, subnet ${netuid}, block ${block} (${duration(Math.max(0, headAgeMs))} old), ` +
    `connected in ${duration(connectMs)}`;
  if (hotkey === null) return good(text, shown);
  if (uid !== null) return good(`${text}; the hotkey has uid ${uid}`, shown);
  const fix = `Register it: ${nodeCommand({ network: endpoint, netuid, hotkey })("register")}`;
  return warning(`${text}; the hotkey is not registered there`, fix, shown);
}

/** An endpoint speaks HTTP before WebSocket, and HTTP answers carry the time. */
async function dateOf(url: string, deadlineMs: number): Promise<ClockSample | null> {
  const sentMs = Date.now();
  try {
    const response = await outboundFetch(url.replace(/^ws/, "http"), { signal: AbortSignal.timeout(deadlineMs) });
    await response.body?.cancel();
    return sampleOfDate(response.headers.get("date"), { by: "the chain's endpoint", sentMs, receivedMs: Date.now() });
  } catch {
    return null; // the check itself reports an unreachable endpoint
  }
}

/**
 * Whether a wallet's hotkey can sign for a node: it exists unencrypted, only this user can read it, and its signatures
 * verify.
 */
interface WalletProbe {
  readonly verdict: Verdict;
  readonly address: string | null; // null: no usable key
}

/** `isNamed` false: the default wallet, which need not exist. */
export async function probeWallet(context: CommandContext, { isNamed }: { isNamed: boolean }): Promise<WalletProbe> {
  const wallet = context.options.text("wallet") ?? "default";
  const place = await findHotkey(context, wallet);
  if (!isNamed && !await explaining(place, () => hotkeyExists(place))) {
    return { verdict: skipped("none named, and none called default: iota wallet new"), address: null };
  }
  const path = hotkeyPath(place);
  const pair: HotkeyPair = await explaining(place, () => loadHotkey(place));
  const { address } = pair;
  const facts = { wallet, hotkey: place.hotkey, address, path };
  const name = `${wallet}/${place.hotkey}`;
  if (!selfTest(pair)) {
    const fix = `Make it again from its mnemonic: iota wallet regen --name ${shellWord(wallet)} --hotkey ${
      shellWord(place.hotkey)
    }`;
    return { verdict: wrong(`${name} does not verify what it signs itself`, fix, facts), address: null };
  }
  if (await explaining(place, () => othersMayRead(place))) {
    const text = `${name} signs, but other users of this machine can read it`;
    return { verdict: warning(text, `Make it private: chmod 600 '${path}'`, facts), address };
  }
  return { verdict: good(`${name} signs and verifies, ${address}`, facts), address };
}
