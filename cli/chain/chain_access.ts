/**
 * From the options of a command line to an open chain, and from the chain's troubles to sentences.
 *
 * Owns: connecting within --timeout, closing, the deadline on reads, waiting for a block, and what a person is told when the chain
 * cannot be asked or says no. Refuses: what is asked. polkadot-js is loaded here, by the actions that ask a chain and by nothing else.
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
import { type CommandTo, nextCommand } from "./text/next_command.ts";

const leastCallMs = 3_000; // where several endpoints share the time
const waitReserveMs = 60_000; // beyond twice the time its blocks should take

export interface ChainAccess {
  readonly chain: SubtensorChain;
  readonly netuid: number;
  readonly connectMs: number;
  readonly commandTo: CommandTo; // a next step about this chain and hotkey
  /** What is read settles within --timeout. */
  reading<T>(work: Promise<T>): Promise<T>;
}

/** Opens the chain that the options name, for as long as `body` takes; its troubles become UserErrors. */
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
      ...{ callDeadlineMs, patienceMs: timeoutMs },
    }));
    try {
      const commandTo: CommandTo = (words) => nextCommand(context.options, words);
      return await body({ chain, netuid, connectMs: performance.now() - startMs, reading, commandTo });
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
    `Cannot ask the chain as ${urls.join(", ")} gave no answer in ${timeoutMs / 1_000} s`,
  );
}

function nextStep({ code }: ChainError): string {
  if (code === "badAnswer") return "Check --netuid and --endpoint; another endpoint may know better";
  return "Check --endpoint and the network; a chain of your own starts with: iota chain local";
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
    const late = () => new ChainError("timeout", `Cannot wait longer for block ${block} as the chain does not make it`);
    const deadlineMs = 2 * missing * blockMs + waitReserveMs;
    await withDeadline(reached.promise, { timers: systemTimers, deadlineMs, late });
  } finally {
    stop();
  }
}

export interface Sending {
  readonly action: string; // "register the hotkey", for the sentence
  readonly call: ChainCall;
  readonly signer: ChainSigner;
}

export interface Sent {
  readonly block: number;
  readonly extrinsicHash: string;
  readonly isUnchanged: boolean;
}

/** Sends, and waits until the call is in a block that reads see. A refusal becomes a UserError: what it means, what to do. */
export async function sendCall(
  { chain, reading, commandTo }: ChainAccess,
  { action, call, signer }: Sending,
): Promise<Sent> {
  const receipt = await chain.send(call, signer);
  if (receipt.status === "refused") throw refusalError(receipt.refusal, { action, commandTo });
  if (receipt.status === "unknown") {
    throw new UserError(`Cannot tell whether the chain took the call to ${action}: ${receipt.why}`, {
      next: `Look before sending it again: ${commandTo("status")}`,
    });
  }
  const { block, extrinsicHash, isUnchanged = false } = receipt;
  if ((await chain.head()).block < block) { // its inclusion was heard of before the head
    const { blockMs } = await reading(chain.parameters());
    await waitForBlock(chain, { block, blockMs });
  }
  return { block, extrinsicHash, isUnchanged };
}

/** What the chain refused, or would: its sentence, then the action as the next step, with whole commands. */
export function refusalError(
  { name, sentence, action: remedy }: Refusal,
  { action, commandTo }: { readonly action: string; readonly commandTo: CommandTo },
): UserError {
  const why = /^[A-Z][a-z]/.test(sentence) ? sentence[0]!.toLowerCase() + sentence.slice(1) : sentence;
  const whole = remedy.replaceAll(/`iota chain ([a-z]+)`/g, (_, words: string) => commandTo(words));
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
