/**
 * `iota wallet`: makes and shows the hotkey a node signs with.
 *
 * Refuses: overwriting, and showing a secret. The one exception is the mnemonic of a new key, shown to a person once; programs
 * (--json) get the path of the file that holds it instead.
 */

import type { Command, CommandContext } from "../command.ts";
import { UsageError } from "../errors.ts";
import { walletFolders } from "../paths.ts";
import { explainWallet, hotkeyOption, openHotkeyOf, walletPathOption } from "../wallet_options.ts";

const actions = ["new", "show"];

export const command: Command = {
  name: "wallet",
  summary: "make or show the hotkey a node signs with",
  usage: "wallet new|show --name NAME [--hotkey NAME]",
  about:
    "Wallets are Bittensor's own files, so a key made here works in its tools and the other way round. A node needs only a hotkey.",
  examples: [
    "iota wallet new --name miner",
    "iota wallet new --name miner --hotkey second",
    "iota wallet show --name miner --json",
  ],
  options: [
    { name: "name", kind: "string", placeholder: "NAME", default: "default", doc: "the wallet" },
    hotkeyOption,
    walletPathOption,
  ],
  positionals: { max: 1 },
  async run(context) {
    const action = context.positionals[0];
    if (action === "new") return await makeNew(context);
    if (action === "show") return await show(context);
    const given = action === undefined ? "it is missing" : `current value is '${action}'`;
    throw new UsageError(`Cannot run wallet as its action must be one of ${actions.join(", ")}: ${given}`, {
      next: "Make a wallet: iota wallet new --name miner",
    });
  },
};

async function makeNew(context: CommandContext): Promise<number> {
  const { output, options } = context;
  const { createHotkey } = await import("../../chain/wallet/hotkey_files.ts");
  const folder = walletFolders(context.environment, {
    explicit: options.text("wallet-path"),
    data: options.text("data"),
  })[0]!;
  const place = { folder, wallet: options.text("name") ?? "default", hotkey: options.text("hotkey") ?? "default" };
  try {
    const { pair, path, mnemonic } = await createHotkey(place);
    if (output.mode !== "json" && !output.quiet) {
      output.line("Write these 12 words down; whoever has them has the hotkey. They are shown once:");
      output.line("");
      output.line(`  ${output.paint.bold(mnemonic)}`);
      output.line("");
    }
    output.summary({ wallet: place.wallet, hotkey: place.hotkey, address: pair.address, path, mnemonicStoredIn: path });
    return 0;
  } catch (error) {
    throw explainWallet(error, place);
  }
}

async function show(context: CommandContext): Promise<number> {
  const wallet = context.options.text("name") ?? "default";
  const { pair, path } = await openHotkeyOf(context, wallet);
  const hotkey = context.options.text("hotkey") ?? "default";
  const publicKey = `0x${pair.publicKey.toHex()}`;
  context.output.summary({ wallet, hotkey, address: pair.address, publicKey, path });
  return 0;
}
