/**
 * Never overwrites a key without --overwrite. The new key's mnemonic is the only secret shown, once, to a person. With
 * --json and --quiet the summary has the path of the file that holds it instead, unless --show-mnemonic is given.
 */

import type { Command } from "../terminal/command.ts";
import { storeKey, storeOptions, targetOf } from "./wallet_store.ts";

export const command: Command = {
  name: "wallet new",
  summary: "create a hotkey, or a coldkey with --coldkey",
  usage: "wallet new [--name NAME] [--hotkey NAME | --coldkey] [options]",
  about:
    "A hotkey signs for a node and is stored unencrypted. A coldkey owns stake and tokens and is stored encrypted: its password is " +
    "asked for, or read from a file or variable. The mnemonic is shown once; it is the only way back to a lost key.",
  examples: [
    "iota wallet new --name miner",
    "iota wallet new --name miner --hotkey second",
    "iota wallet new --name owner --coldkey",
    "iota wallet new --name owner --coldkey --password-file secret.txt --json",
  ],
  options: [
    ...storeOptions,
    {
      name: "show-mnemonic",
      kind: "boolean",
      doc: "include the mnemonic in the summary of --json and --quiet; keep that out of logs",
    },
  ],
  rights: { read: "any", write: "any", env: "any" },
  async run(context) {
    const { output, options } = context;
    const { newKeyMaterial } = await import("../../chain/wallet/key_material.ts");
    const key = newKeyMaterial();
    const stored = await storeKey(context, { place: targetOf(context), key });
    const mnemonic = key.revealMnemonic();
    const isForPeople = output.mode !== "json" && !output.quiet;
    if (isForPeople) {
      output.line(`Write these 12 words down; anyone who has them has the ${stored.key}. They are shown once:`);
      output.line("");
      output.line(`  ${output.paint.bold(String(mnemonic))}`);
      output.line("");
    }
    const shown = !isForPeople && options.flag("show-mnemonic") ? { mnemonic } : {};
    output.summary({ ...stored, mnemonicStoredIn: stored.path, ...shown });
    return 0;
  },
};
