/**
 * Opens the chain that a command's options name, and turns chain errors into messages.
 *
 * Owns: connecting within --timeout, closing, the deadline on reads, waiting for a block, and the messages for an unreachable
 * chain or a refused call. Out of scope: what is queried. polkadot-js is loaded here, only by actions that query a chain.
 */

import type { Address, ChainCall, ChainSigner } from "../../chain/call.ts";
import { ChainError, type Neuron, type Refusal } from "../../chain/chain.ts";
import { type Endpoints, parseEndpoints } from "../../chain/subtensor/connection/endpoints.ts";
import type { SubtensorChain } from "../../chain/subtensor/subtensor_chain.ts";
import { withDeadline } from "../../chain/subtensor/connection/timers.ts";
import { systemRandom, systemTimers } from "../../net/timers.ts";
import { defaultNetuid } from "../options/chain_options.ts";
import type { CommandContext } from "../command.ts";
import { UsageError, UserError } from "../output/errors.ts";
import { type CommandTo, nextCommand, withWholeCommands } from "./text/next_command.ts";
import { chainSocketOptions } from "../outbound.ts";

const leastCallMs = 3_000; // when several endpoints share the time
const waitReserveMs = 60_000; // on top of twice the time its blocks should take

export interface ChainAccess {
  readonly chain: SubtensorChain;
  readonly netuid: number;
  readonly isPublic: boolean; // a chain that everyone shares
  readonly connectMs: number;
  readonly commandTo: CommandTo; // the next command for this chain and hotkey
  /** Reads settle within --timeout. */
  reading<T>(work: Promise<T>): Promise<T>;
}

/** Opens the chain that the options name while `body` runs; its errors become UserErrors. */
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
    `Cannot query the chain as ${urls.join(", ")} gave no answer in ${timeoutMs / 1_000} s`,
  );
}

function nextStep({ code }: ChainError): string {
  if (code === "badAnswer") return "Check --netuid and --endpoint, or try another endpoint";
  return "Check --endpoint and the network, or start your own chain: iota chain local";
}

/** Resolves when the chain has made this block. */
export async function waitForBlock(chain: SubtensorChain, wanted: { block: number; blockMs: number }): Promise<void> {
  const { block, blockMs } = wanted;
  const missing = block - (await chain.head()).block;
  if (missing <= 0) return;
  const reached = Promise.withResolvers<void>();
  const stop = chain.onHead((head) => {
    if (head.block >= block) reached.resolve();
  });
  try {
    const late = () =>
      new ChainError("timeout", `Cannot wait longer for block ${block} as the chain does not produce it`);
    const deadlineMs = 2 * missing * blockMs + waitReserveMs;
    await withDeadline(reached.promise, { timers: systemTimers, deadlineMs, late });
  } finally {
    stop();
  }
}

export interface Sending {
  readonly action: string; // "register the hotkey", for the message
  readonly call: ChainCall;
  readonly signer: ChainSigner;
}

export interface Sent {
  readonly block: number;
  readonly extrinsicHash: string;
  readonly isUnchanged: boolean;
}

/** Sends a call and waits until reads see its block. A refusal becomes a UserError with its meaning and the next step. */
export async function sendCall(
  { chain, reading, commandTo }: ChainAccess,
  { action, call, signer }: Sending,
): Promise<Sent> {
  const receipt = await chain.send(call, signer);
  if (receipt.status === "refused") throw refusalError(receipt.refusal, { action, commandTo });
  if (receipt.status === "unknown") {
    throw new UserError(`Cannot tell whether the chain accepted the call to ${action}: ${receipt.why}`, {
      next: `Check before sending it again: ${commandTo("status")}`,
    });
  }
  const { block, extrinsicHash, isUnchanged = false } = receipt;
  if ((await chain.head()).block < block) { // its inclusion was reported before the new head
    const { blockMs } = await reading(chain.parameters());
    await waitForBlock(chain, { block, blockMs });
  }
  return { block, extrinsicHash, isUnchanged };
}

/**
 * The error for what the chain refused or would refuse: its sentence, then the action as the next step, with complete
 * commands.
 */
export function refusalError(
  { name, sentence, action: remedy }: Refusal,
  { action, commandTo }: { readonly action: string; readonly commandTo: CommandTo },
): UserError {
  const why = /^[A-Z][a-z]/.test(sentence) ? sentence[0]!.toLowerCase() + sentence.slice(1) : sentence;
  const whole = withWholeCommands(remedy, commandTo);
  const next = whole === "none" ? "Try again" : whole[0]!.toUpperCase() + whole.slice(1);
  return new UserError(`Cannot ${action} as ${why} (${name})`, { next });
}

/** The neuron of a hotkey, or a UserError. */
export function registeredNeuron(
  neurons: readonly Neuron[],
  of: { action: string; hotkey: Address } & Pick<ChainAccess, "netuid" | "commandTo">,
): Neuron {
  const own = neurons.find(({ hotkey }) => hotkey === of.hotkey);
  if (own !== undefined) return own;
  throw new UserError(
    `Cannot ${of.action} as its hotkey must be registered in subnet ${of.netuid}: ${of.hotkey} is not`,
    { next: `Register it: ${of.commandTo("register")}` },
  );
}
