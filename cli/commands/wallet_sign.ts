/**
 * `iota wallet sign`: signs a text, to prove who holds a key, or signs an HTTP request.
 *
 * It signs the text's UTF-8 bytes, as Bittensor's own tools do. Rejects: bytes that are not text, because calls that
 * move funds on the chain are binary and must not be signed by accident; a request signed by a coldkey.
 */

import type { Command, CommandContext } from "../terminal/command.ts";
import { UsageError } from "../program/errors.ts";
import { passwordOptions, refuseIdlePassword } from "../terminal/options/secret_input.ts";
import { hotkeyOption, openColdkeyOf, openHotkeyOf, walletPathOption } from "../terminal/options/wallet_options.ts";
import { readRequest, requestOptions, type RequestToSign, signedHeaders } from "./wallet_request.ts";
import { coldkeyFlag, nameOption } from "./wallet_store.ts";

export const command: Command = {
  name: "wallet sign",
  summary: "sign a text or an HTTP request",
  usage: "wallet sign (--message TEXT | --request KIND) [--name NAME] [--hotkey NAME | --coldkey] [options]",
  about:
    "A request is signed as Bittensor's subnets do it: btauth is the SDK's own scheme and covers method, target, body and " +
    "receiver; epistula is older and covers body and receiver. Prints the headers in the form that curl --config FILE reads; " +
    "they are valid for 10 s and for one request.",
  examples: [
    "iota wallet sign --name miner --message hello",
    "iota wallet sign --name owner --coldkey --message hello --json",
    "iota wallet sign --name miner --request btauth --target /generate --body FILE --receiver SS58",
  ],
  options: [
    { name: "message", kind: "string", placeholder: "TEXT", doc: "what to sign" },
    ...requestOptions,
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
    const request = await readRequest(context);
    if (request !== null && message === undefined) return await signRequest(context, request);
    if (request !== null || message === undefined) {
      throw new UsageError("Cannot sign as there must be either a text, --message TEXT, or a request, --request KIND", {
        next: "See iota help wallet sign",
      });
    }
    const signer = await signerOf(context);
    const signature = `0x${signer.sign(new TextEncoder().encode(message)).toHex()}`;
    context.output.summary({ address: signer.address, message, signature });
    return 0;
  },
};

async function signRequest(context: CommandContext, request: RequestToSign): Promise<number> {
  if (context.options.flag("coldkey")) {
    throw new UsageError("Cannot sign a request with --coldkey as nodes are known by their hotkeys", {
      next: "Leave --coldkey out",
    });
  }
  const { pair } = await openHotkeyOf(context, context.options.text("name") ?? "default");
  const headers = await signedHeaders(request, pair);
  const lines = Object.entries(headers).map(([name, value]) => `-H "${name}: ${value}"`);
  context.output.answer({ address: pair.address, headers }, lines.join("\n"));
  return 0;
}

async function signerOf(context: CommandContext) {
  const wallet = context.options.text("name") ?? "default";
  return context.options.flag("coldkey")
    ? await openColdkeyOf(context, wallet)
    : (await openHotkeyOf(context, wallet)).pair;
}
