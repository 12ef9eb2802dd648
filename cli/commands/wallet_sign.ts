/**
 * `iota wallet sign`: signs a text, to prove who holds a key.
 *
 * The bytes signed are the text's UTF-8, as Bittensor's own tools sign. Refuses: bytes that are no text, since what moves
 * funds on the chain is binary and must not be signed by accident.
 */

import type { Command, CommandContext } from "../command.ts";
import { UsageError } from "../errors.ts";
import { passwordOptions } from "../secret_input.ts";
import { hotkeyOption, openColdkeyOf, openHotkeyOf, walletPathOption } from "../wallet_options.ts";
import { coldkeyFlag, nameOption } from "./wallet_store.ts";

export const command: Command = {
  name: "wallet sign",
  summary: "sign a text",
  usage: "wallet sign --message TEXT [--name NAME] [--hotkey NAME | --coldkey] [options]",
  examples: [
    "iota wallet sign --name miner --message hello",
    "iota wallet sign --name owner --coldkey --message hello --json",
  ],
  options: [
    { name: "message", kind: "string", placeholder: "TEXT", doc: "what to sign" },
    nameOption,
    hotkeyOption,
    coldkeyFlag,
    walletPathOption,
    ...passwordOptions,
  ],
  async run(context) {
    const message = context.options.text("message");
    if (message === undefined) {
      throw new UsageError("Cannot sign as there must be a text: --message TEXT", {
        next: "See iota help wallet sign",
      });
    }
    const signer = await signerOf(context);
    const signature = `0x${signer.sign(new TextEncoder().encode(message)).toHex()}`;
    context.output.summary({ address: signer.address, message, signature });
    return 0;
  },
};

async function signerOf(context: CommandContext) {
  const wallet = context.options.text("name") ?? "default";
  return context.options.flag("coldkey")
    ? await openColdkeyOf(context, wallet)
    : (await openHotkeyOf(context, wallet)).pair;
}
