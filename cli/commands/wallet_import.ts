/**
 * Rejects a phrase on the command line, where every user of the machine can read it (`wallet regen` asks for it). A
 * password opens the file; a coldkey keeps that password, a hotkey is stored plain.
 */

import type { Command, CommandContext } from "../terminal/command.ts";
import { expandHome } from "../program/paths.ts";
import { attempting, UsageError } from "../program/errors.ts";
import { readPassword, refuseIdlePassword } from "../terminal/options/secret_input.ts";
import { explaining } from "../terminal/options/wallet_options.ts";
import { type KeyPlace, storeKey, storeOptions, targetOf } from "./wallet_store.ts";
import type { OpenedKey } from "../../chain/wallet/key_files.ts";

export const command: Command = {
  name: "wallet import",
  summary: "import a key file or a development account",
  usage: "wallet import FILE|--uri URI [--name NAME] [--hotkey NAME | --coldkey] [options]",
  about:
    "FILE is a key of Bittensor's tools, plain or encrypted, or an account exported by polkadot-js. URIs such as //Alice " +
    "name the public accounts of development chains. Never send anything of value to them.",
  examples: [
    "iota wallet import backup/hotkeys/default --name miner",
    "iota wallet import account.json --name owner --coldkey",
    "iota wallet import --uri //Alice --name alice",
    "iota wallet import --uri //Alice --name alice --coldkey --no-password",
  ],
  options: [
    ...storeOptions,
    { name: "uri", kind: "string", placeholder: "URI", doc: "a derivation path of the development phrase" },
  ],
  positionals: { max: 1, placeholder: "FILE" },
  rights: { read: "any", write: "any", env: "any" },
  async run(context) {
    const place = targetOf(context, { opensFile: context.positionals.length > 0 });
    const { key, password } = await open(context, place);
    context.output.summary({ ...await storeKey(context, { place, key, password }) });
    return 0;
  },
};

async function open(context: CommandContext, place: KeyPlace): Promise<OpenedKey> {
  const uri = context.options.text("uri");
  const [typed] = context.positionals;
  const path = typed === undefined ? undefined : expandHome(typed, context.environment);
  if ((uri === undefined) === (path === undefined)) {
    throw new UsageError("Import takes either a file or --uri", {
      next: "See iota help wallet import",
    });
  }
  if (path !== undefined) {
    const { openKeyFile } = await import("../../chain/wallet/key_files.ts");
    await attempting({ action: "import a key", value: path }, () => Deno.stat(path));
    const password = () => readPassword(context, { question: `Password of ${path}`, isNew: false });
    const opened = await explaining(place, () => openKeyFile(path, { password }));
    const isUnused = opened.password === null && "hotkey" in place;
    if (isUnused) refuseIdlePassword(context, `${path} is not encrypted, and hotkeys are never encrypted here`);
    return opened;
  }
  const { keyOfSecretUri } = await import("../../chain/wallet/secret_uri.ts");
  const key = uri?.startsWith("/") ? keyOfSecretUri(uri) : null;
  if (key === null) {
    throw new UsageError("The URI is not a derivation path such as //Alice", {
      next: "Never pass a phrase or seed as an argument; enter it when asked: iota wallet regen",
    });
  }
  return { key, password: null };
}
