/**
 * Rejects secrets as arguments: they are asked for without echo, or come from a file or a pipe. `--address` writes only
 * the public half of a coldkey, for machines that must not hold it.
 */

import type { Command, CommandContext } from "../terminal/command.ts";
import { UsageError, UserError } from "../program/errors.ts";
import { readSecret, refuseIdlePassword } from "../terminal/options/secret_input.ts";
import { explaining } from "../terminal/options/wallet_options.ts";
import { storeKey, storeOptions, targetOf } from "./wallet_store.ts";

export const command: Command = {
  name: "wallet regen",
  summary: "restore a key from its mnemonic or seed",
  usage: "wallet regen [--name NAME] [--hotkey NAME | --coldkey] [--from FILE] [options]",
  about: "The secret is asked for, or read with --from: 12 to 24 words, a seed of 64 hex digits, or a URI such as " +
    "'WORDS//path///password'.",
  examples: [
    "iota wallet regen --name miner",
    "iota wallet regen --name owner --coldkey",
    "iota wallet regen --name miner --from words.txt --json",
    "iota wallet regen --name miner --coldkey --address SS58",
  ],
  options: [
    ...storeOptions,
    { name: "from", kind: "string", placeholder: "FILE", doc: "read the secret from this file, or from stdin with -" },
    { name: "address", kind: "string", placeholder: "SS58", doc: "with --coldkey: write only coldkeypub.txt" },
  ],
  rights: { read: "any", write: "any", env: "any" },
  async run(context) {
    const place = targetOf(context);
    const address = context.options.text("address");
    if (address !== undefined) return await writeAddress(context, address);
    const question = "hotkey" in place
      ? `Mnemonic or seed of hotkey ${place.wallet}/${place.hotkey}`
      : `Mnemonic or seed of coldkey ${place.wallet}`;
    const { keyOfSecretUri } = await import("../../chain/wallet/secret_uri.ts");
    const key = keyOfSecretUri(await readSecret(context, { path: context.options.text("from"), question }));
    if (key === null) {
      throw new UserError("The secret is not a valid mnemonic, seed or URI", {
        next: "Check the spelling, number and order of the words; they are English and in lower case",
      });
    }
    context.output.summary({ ...await storeKey(context, { place, key }) });
    return 0;
  },
};

async function writeAddress(context: CommandContext, address: string): Promise<number> {
  const place = targetOf(context);
  const { options, output } = context;
  if ("hotkey" in place || options.given("from") || options.flag("no-password")) {
    throw new UsageError("--address needs --coldkey and takes no secret: it writes only a public file", {
      next: "See iota help wallet regen",
    });
  }
  refuseIdlePassword(context, "an address is public");
  const { decodeAddress } = await import("../../chain/wallet/ss58.ts");
  if (decodeAddress(address) === null) {
    throw new UsageError("--address is not an ss58 address with prefix 42", {
      next: "Copy it again: it begins with 5 and has 48 characters",
    });
  }
  const { saveColdkeyAddress } = await import("../../chain/wallet/coldkey_files.ts");
  const overwrite = options.flag("overwrite");
  const path = await explaining(place, () => saveColdkeyAddress(place, { address, overwrite }));
  output.summary({ wallet: place.wallet, key: "coldkey", address, path, isEncrypted: false });
  return 0;
}
