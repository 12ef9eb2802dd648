/** `iota chain serve`: one announcement of an axon, left out where the chain holds it already (chain/subtensor sees to that). */

import type { CommandContext } from "../command.ts";
import { UsageError } from "../errors.ts";
import { registeredNeuron, sendCall, withChain } from "./chain_access.ts";
import { signingHotkey } from "./hotkey_address.ts";
import { axonText } from "./neuron_table.ts";

const protocol = 4; // what Bittensor's own SDK announces
const axonVersion = 1;

export async function serveAxon(context: CommandContext): Promise<number> {
  const { output, options } = context;
  const ip = options.text("ip"), port = options.number("port");
  if (ip === undefined || port === undefined) {
    throw new UsageError("Cannot announce an axon as --ip and --port must both be given", {
      next: "See iota help chain serve",
    });
  }
  const signer = await signingHotkey(context);
  return await withChain(context, async (access) => {
    const { chain, netuid, reading } = access;
    const action = "announce the axon";
    const { neurons } = await reading(chain.metagraph());
    const { uid } = registeredNeuron(neurons, { action, hotkey: signer.address, netuid });
    const axon = { ip, port, protocol, version: axonVersion };
    const { block, isUnchanged } = await sendCall(access, {
      action,
      signer,
      call: { type: "serveAxon", netuid, axon },
    });
    output.answer(
      { netuid, hotkey: signer.address, uid, ip, port, block, isUnchanged },
      isUnchanged
        ? `The chain has ${axonText(axon)} for uid ${uid} since block ${block}: nothing was sent`
        : `uid ${uid} of subnet ${netuid} is announced at ${axonText(axon)}, block ${block}`,
    );
    return 0;
  });
}
