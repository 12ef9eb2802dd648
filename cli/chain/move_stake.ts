/**
 * `iota chain stake`: adds to a hotkey's stake or removes from it once. The subnet and the hotkey are checked before
 * the coldkey is opened.
 */

import type { Address } from "../../chain/call.ts";
import type { CommandContext } from "../terminal/command.ts";
import { UsageError, UserError } from "../program/errors.ts";
import { shortAddress, tokens } from "../terminal/text/format.ts";
import { type ChainAccess, withChain } from "./chain_access.ts";
import { finalityText, sendCall } from "./send_call.ts";
import { parseTokens } from "./text/chain_words.ts";
import { hotkeyAddressOf } from "./hotkey_address.ts";
import { openPayer, requireBalance } from "./paying_coldkey.ts";

export async function moveStake(context: CommandContext): Promise<number> {
  const { output, options } = context;
  const text = options.text("amount");
  const amount = text === undefined ? 0n : parseTokens(text, "amount");
  if (amount === 0n) {
    throw new UsageError("Moving stake needs an amount above 0: --amount TAO", {
      next: "See iota help chain stake",
    });
  }
  const isRemoval = options.flag("remove");
  const hotkey = await hotkeyAddressOf(context);
  return await withChain(context, async (access) => {
    const { chain, netuid, reading } = access;
    const action = isRemoval ? "remove stake" : "add stake";
    await requireStarted(access, action);
    if (isRemoval) await requireStake(access, { action, hotkey, amount });
    else await warnOfStranger(context, access, hotkey);
    const signer = await openPayer(context, { access, hotkey });
    if (!isRemoval) await requireBalance(context, { access, action, signer, amountRao: amount });
    const sent = await sendCall(access, {
      ...{ action, signer, isFinalAwaited: options.flag("wait-final") },
      call: isRemoval
        ? { type: "removeStake", hotkey, netuid, amountAlpha: amount }
        : { type: "addStake", hotkey, netuid, amountRao: amount },
    });
    const [{ neurons }, balanceRao] = await reading(
      Promise.all([chain.metagraph(), chain.balanceOf(signer.address)]),
    );
    const own = neurons.find((neuron) => neuron.hotkey === hotkey);
    const done = isRemoval ? `Took ${tokens(amount)} back from` : `Staked ${tokens(amount)} TAO to`;
    const stake = own === undefined ? "" : `; its stake is ${tokens(own.stakeRao)} now`;
    output.answer(
      {
        ...{
          netuid,
          hotkey,
          uid: own?.uid ?? null,
          isRemoval,
          block: sent.block,
          isFinal: sent.isFinal,
          amountRao: String(amount),
        },
        stakeRao: own === undefined ? null : String(own.stakeRao),
        ...{ coldkey: signer.address, balanceRao: String(balanceRao) },
      },
      `${done} ${shortAddress(hotkey)} in subnet ${netuid}${stake}\n` +
        `The coldkey ${shortAddress(signer.address)} has ${tokens(balanceRao)} TAO` + finalityText(sent),
    );
    return 0;
  });
}

async function requireStarted({ chain, netuid, reading }: ChainAccess, action: string): Promise<void> {
  if (await reading(chain.isStarted())) return;
  throw new UserError(`Cannot ${action}: the owner of subnet ${netuid} has not started it yet`, {
    next: "Ask the subnet's owner, or name another subnet: --netuid N",
  });
}

/** Checks against the hotkey's total; only the chain knows this coldkey's share. */
async function requireStake(
  { chain, netuid, reading }: ChainAccess,
  { action, hotkey, amount }: { readonly action: string; readonly hotkey: Address; readonly amount: bigint },
): Promise<void> {
  const { neurons } = await reading(chain.metagraph());
  const own = neurons.find((neuron) => neuron.hotkey === hotkey);
  if (own === undefined || own.stakeRao >= amount) return; // unknown without a uid
  const has = tokens(own.stakeRao);
  throw new UserError(
    `Cannot ${action}: the hotkey has ${has} in subnet ${netuid}, less than ${tokens(amount)}`,
    {
      next: own.stakeRao === 0n ? "There is no stake to remove" : `Take at most: --amount ${has.replaceAll(",", "")}`,
    },
  );
}

/** The chain accepts stake for any hotkey that was ever registered anywhere. */
async function warnOfStranger(
  { output }: CommandContext,
  { chain, netuid, reading, commandTo }: ChainAccess,
  hotkey: Address,
): Promise<void> {
  if (await reading(chain.uidOf(hotkey)) !== null) return;
  output.log.warn(
    `${hotkey} is not registered in subnet ${netuid}: until it is, its stake there earns nothing and gives no permit. ` +
      `Register it: ${commandTo("register")}`,
  );
}
