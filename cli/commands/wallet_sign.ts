/**
 * Signs a text's UTF-8 bytes, as Bittensor's own tools do. Rejects bytes that are not text: calls that move funds on
 * the chain are binary and must not be signed by accident.
 */

import type { Command, CommandContext } from "../terminal/command.ts";
import { UsageError } from "../program/errors.ts";
import { passwordOptions, refuseIdlePassword } from "../terminal/options/secret_input.ts";
import { hotkeyOption, openColdkeyOf, openHotkeyOf, walletPathOption } from "../terminal/options/wallet_options.ts";
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
  rights: { read: "any", env: "any" },
  async run(context) {
    if (!context.options.flag("coldkey")) refuseIdlePassword(context, "hotkeys are never encrypted here");
    const message = context.options.text("message");
    if (message === undefined) {
      throw new UsageError("There is no text to sign", {
        next: "Give it as --message TEXT",
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
