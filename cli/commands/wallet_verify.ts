/** Exit code 1 if the signature is not the holder's; needs no secret. */

import type { Command, CommandContext } from "../terminal/command.ts";
import { UsageError, UserError } from "../program/errors.ts";
import {
  explaining,
  findColdkey,
  findHotkey,
  hotkeyOption,
  walletPathOption,
} from "../terminal/options/wallet_options.ts";
import { coldkeyFlag, nameOption } from "./wallet_store.ts";

export const command: Command = {
  name: "wallet verify",
  summary: "check the signature of a text",
  usage: "wallet verify --message TEXT --signature HEX [--address SS58] [options]",
  about:
    "The signer is --address, or the named wallet's hotkey or coldkey. Exit code 0: the signature is theirs; 1: it is not.",
  examples: [
    "iota wallet verify --address SS58 --message hello --signature 0x…",
    "iota wallet verify --name miner --message hello --signature 0x… --json",
  ],
  options: [
    { name: "message", kind: "string", placeholder: "TEXT", doc: "what was signed" },
    { name: "signature", kind: "string", placeholder: "HEX", doc: "64 bytes in hex" },
    {
      name: "address",
      kind: "string",
      placeholder: "SS58",
      defaultText: "the wallet's",
      doc: "the claimed signer",
    },
    nameOption,
    hotkeyOption,
    coldkeyFlag,
    walletPathOption,
  ],
  rights: { read: "any", env: "any" },
  async run(context) {
    const message = required(context, "message");
    const hex = required(context, "signature").replace(/^0x/, "");
    if (!/^[0-9a-f]{128}$/i.test(hex)) {
      throw new UsageError(`--signature must have 128 hex digits, and has ${hex.length} characters`, {
        next: "Copy it again, with or without 0x",
      });
    }
    const address = await addressOf(context);
    const { verifySignature } = await import("../../chain/wallet/hotkey.ts");
    const isValid = verifySignature({
      address,
      message: new TextEncoder().encode(message),
      signature: Uint8Array.fromHex(hex),
    });
    context.output.summary({ address, message, isValid });
    return isValid ? 0 : 1;
  },
};

function required(context: CommandContext, name: string): string {
  const value = context.options.text(name);
  if (value !== undefined) return value;
  throw new UsageError(`--${name} is missing`, {
    next: "See iota help wallet verify",
  });
}

async function addressOf(context: CommandContext): Promise<string> {
  const { decodeAddress } = await import("../../chain/wallet/ss58.ts");
  const given = context.options.text("address");
  if (given !== undefined) {
    if (decodeAddress(given) !== null) return given;
    throw new UsageError("--address is not an ss58 address with prefix 42", {
      next: "Copy it again: it begins with 5 and has 48 characters",
    });
  }
  const wallet = context.options.text("name") ?? "default";
  if (!context.options.flag("coldkey")) {
    const { hotkeyAddress } = await import("../../chain/wallet/wallet_list.ts");
    const place = await findHotkey(context, wallet);
    return await explaining(place, () => hotkeyAddress(place));
  }
  const { viewColdkey } = await import("../../chain/wallet/coldkey_files.ts");
  const place = await findColdkey(context, wallet);
  const { address } = await explaining(place, () => viewColdkey(place));
  if (address !== null) return address;
  throw new UserError(`Wallet ${wallet} has no coldkeypub.txt`, {
    next: "Pass --address SS58",
  });
}
