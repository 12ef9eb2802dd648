/**
 * Opens the chain that a command's options name, and turns chain errors into messages. polkadot-js is loaded only here.
 */

import type { Address } from "../../chain/call.ts";
import { ChainError, type Neuron } from "../../chain/chain.ts";
import { type Endpoints, parseEndpoints } from "../../chain/subtensor/connection/endpoints.ts";
import type { SubtensorChain } from "../../chain/subtensor/subtensor_chain.ts";
import { withDeadline } from "../../chain/subtensor/connection/timers.ts";
import { systemRandom, systemTimers } from "../../net/timers.ts";
import { defaultNetuid } from "../terminal/options/chain_options.ts";
import type { CommandContext } from "../terminal/command.ts";
import { UsageError, UserError } from "../program/errors.ts";
import { type CommandTo, nextCommand } from "./text/chain_words.ts";
import { chainSocketOptions } from "../program/outbound.ts";

const leastCallMs = 3_000; // when endpoints share the time
const waitReserveMs = 60_000; // on top of twice the blocks' time

export interface ChainAccess {
  readonly chain: SubtensorChain;
  readonly netuid: number;
  readonly isPublic: boolean;
  readonly connectMs: number;
  readonly commandTo: CommandTo; // the next command for this chain and hotkey
  /** Limited by --timeout. */
  reading<T>(work: Promise<T>): Promise<T>;
}

export async function withChain<T>(context: CommandContext, body: (access: ChainAccess) => Promise<T>): Promise<T> {
  const endpoints = endpointsOf(context);
  const netuid = context.options.number("netuid") ?? defaultNetuid;
  const timeoutMs = (context.options.number("timeout") ?? 20) * 1_000;
  const reading = <R>(work: Promise<R>): Promise<R> =>
    withDeadline(work, { timers: systemTimers, deadlineMs: timeoutMs, late: () => lateError(endpoints, timeoutMs) });
  try {
    const { SubtensorChain } = await import("../../chain/subtensor/subtensor_chain.ts");
    const callDeadlineMs = Math.min(timeoutMs, Math.max(leastCallMs, timeoutMs / endpoints.urls.length));
    const startMs = performance.now();
    const chain = await reading(SubtensorChain.connect({
      ...{ endpoints, netuid, timers: systemTimers, dice: systemRandom.unit },
      ...{ callDeadlineMs, patienceMs: timeoutMs, socketOptions: chainSocketOptions },
    }));
    try {
      const commandTo: CommandTo = (words) => nextCommand(context.options, words);
      const { isPublic } = endpoints;
      return await body({ chain, netuid, isPublic, connectMs: performance.now() - startMs, reading, commandTo });
    } finally {
      await chain.close();
    }
  } catch (error) {
    if (!(error instanceof ChainError)) throw error;
    throw new UserError(error.message, { next: nextStep(error), cause: error });
  }
}

function endpointsOf({ options }: CommandContext): Endpoints {
  const text = options.text("endpoint") ?? "finney";
  try {
    return parseEndpoints(text);
  } catch (error) {
    if (!(error instanceof ChainError)) throw error;
    throw new UsageError(error.message, { next: "Name one: --endpoint local, or --endpoint ws://127.0.0.1:9944" });
  }
}

function lateError({ urls }: Endpoints, timeoutMs: number): ChainError {
  return new ChainError(
    "timeout",
    `Cannot query the chain: no answer from ${urls.join(", ")} within ${timeoutMs / 1_000} s`,
  );
}

function nextStep({ code }: ChainError): string {
  if (code === "badAnswer") return "Check --netuid and --endpoint, or try another endpoint";
  return "Check --endpoint and the network, or start your own chain: iota chain local";
}

export async function waitForBlock(chain: SubtensorChain, wanted: { block: number; blockMs: number }): Promise<void> {
  const { block, blockMs } = wanted;
  const missing = block - (await chain.head()).block;
  if (missing <= 0) return;
  const reached = Promise.withResolvers<void>();
  const stop = chain.onHead((head) => {
    if (head.block >= block) reached.resolve();
  });
  try {
    const late = () => new ChainError("timeout", `The chain did not produce block ${block} in time`);
    const deadlineMs = 2 * missing * blockMs + waitReserveMs;
    await withDeadline(reached.promise, { timers: systemTimers, deadlineMs, late });
  } finally {
    stop();
  }
}

export function registeredNeuron(
  neurons: readonly Neuron[],
  of: { action: string; hotkey: Address } & Pick<ChainAccess, "netuid" | "commandTo">,
): Neuron {
  const own = neurons.find(({ hotkey }) => hotkey === of.hotkey);
  if (own !== undefined) return own;
  throw new UserError(
    `Cannot ${of.action}: hotkey ${of.hotkey} is not registered in subnet ${of.netuid}`,
    { next: `Register it: ${of.commandTo("register")}` },
  );
}
