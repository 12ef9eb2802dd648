/**
 * `iota chain register`: the burned registration.
 *
 * A registered hotkey is never paid for again, and no call is sent above the maximum price. Before runtime 411 the call
 * does not carry that price, so the price is read again after the coldkey is opened.
 */

import type { CommandContext } from "../terminal/command.ts";
import { UserError } from "../program/errors.ts";
import { shortAddress, tokens } from "../terminal/text/format.ts";
import { type ChainAccess, withChain } from "./chain_access.ts";
import { finalityText, sendCall } from "./send_call.ts";
import { parseTokens } from "./text/chain_words.ts";
import { hotkeyAddressOf } from "./hotkey_address.ts";
import { openPayer, requireBalance } from "./paying_coldkey.ts";

const action = "register the hotkey";

export async function registerHotkey(context: CommandContext): Promise<number> {
  const { output, options } = context;
  const given = options.text("max-cost");
  const maxGivenRao = given === undefined ? null : parseTokens(given, "max-cost");
  const hotkey = await hotkeyAddressOf(context);
  return await withChain(context, async (access) => {
    const { chain, netuid, reading } = access;
    const { neurons } = await reading(chain.metagraph());
    const known = neurons.find((neuron) => neuron.hotkey === hotkey);
    if (known !== undefined) {
      output.answer(
        { netuid, hotkey, uid: known.uid, isRegisteredBefore: true },
        `${shortAddress(hotkey)} already has uid ${known.uid} in subnet ${netuid}: nothing was paid`,
      );
      return 0;
    }
    const costRao = await costOf(access);
    output.line(`Registering in subnet ${netuid} costs ${tokens(costRao)} TAO`);
    const maxRao = maxGivenRao ?? costRao + costRao / 20n;
    requireCost(costRao, maxRao);
    const signer = await openPayer(context, { access, hotkey });
    const lastCostRao = await costOf(access); // opening the coldkey may have taken long
    requireCost(lastCostRao, maxRao);
    await requireBalance(context, { access, action, signer, amountRao: lastCostRao });
    const sent = await sendCall(access, {
      action,
      signer,
      isFinalAwaited: options.flag("wait-final"),
      call: { type: "burnedRegister", netuid, hotkey, limitRao: maxRao },
    });
    const uid = await reading(chain.uidOf(hotkey));
    const balanceRao = await reading(chain.balanceOf(signer.address));
    output.answer(
      {
        ...{
          netuid,
          hotkey,
          uid,
          isRegisteredBefore: false,
          block: sent.block,
          isFinal: sent.isFinal,
          costRao: String(lastCostRao),
        },
        ...{ coldkey: signer.address, balanceRao: String(balanceRao) },
      },
      `${shortAddress(hotkey)} has uid ${uid} in subnet ${netuid} since block ${sent.block}\n` +
        `The coldkey ${shortAddress(signer.address)} has ${tokens(balanceRao)} TAO` + finalityText(sent),
    );
    return 0;
  });
}

async function costOf({ chain, netuid, reading }: ChainAccess): Promise<bigint> {
  const { isRegistrationAllowed, registrationCostRao } = await reading(chain.parameters());
  if (isRegistrationAllowed) return registrationCostRao;
  throw new UserError(`Cannot ${action}: subnet ${netuid} accepts no registrations now`, {
    next: "Ask the subnet's owner, or name another subnet: --netuid N",
  });
}

function requireCost(costRao: bigint, maxRao: bigint): void {
  if (costRao <= maxRao) return;
  const shown = tokens(costRao);
  throw new UserError(`Cannot ${action}: it costs ${shown} TAO, more than the limit of ${tokens(maxRao)}`, {
    next: `Wait for the price to fall, or allow it: --max-cost ${shown.replaceAll(",", "")}`,
  });
}
