/**
 * Checks whether a wallet's hotkey is ready to sign for a node: it exists, is unencrypted, no other user can read it,
 * and its signatures verify.
 *
 * Out of scope: coldkeys, which a node never opens. Of a key it shows only the address.
 */

import { hotkeyExists, loadHotkey, othersMayRead } from "../../../chain/wallet/hotkey_files.ts";
import { type HotkeyPair, selfTest } from "../../../chain/wallet/hotkey.ts";
import { hotkeyPath } from "../../../chain/wallet/wallet_place.ts";
import type { CommandContext } from "../../terminal/command.ts";
import { shellWord } from "../../program/shell_words.ts";
import { explaining, findHotkey } from "../../terminal/options/wallet_options.ts";
import { good, skipped, type Verdict, warning, wrong } from "./verdict.ts";

export interface WalletProbe {
  readonly verdict: Verdict;
  readonly address: string | null; // null: no usable key
}

/** `isNamed`: by the user; otherwise it is the default, which need not exist. */
export async function probeWallet(context: CommandContext, { isNamed }: { isNamed: boolean }): Promise<WalletProbe> {
  const wallet = context.options.text("wallet") ?? "default";
  const place = await findHotkey(context, wallet);
  if (!isNamed && !await explaining(place, () => hotkeyExists(place))) {
    return { verdict: skipped("none named, and none called default: iota wallet new"), address: null };
  }
  const path = hotkeyPath(place);
  const pair: HotkeyPair = await explaining(place, () => loadHotkey(place));
  const { address } = pair;
  const facts = { wallet, hotkey: place.hotkey, address, path };
  const name = `${wallet}/${place.hotkey}`;
  if (!selfTest(pair)) {
    const fix = `Make it again from its mnemonic: iota wallet regen --name ${shellWord(wallet)} --hotkey ${
      shellWord(place.hotkey)
    }`;
    return { verdict: wrong(`${name} does not verify what it signs itself`, fix, facts), address: null };
  }
  if (await explaining(place, () => othersMayRead(place))) {
    const text = `${name} signs, but other users of this machine can read it`;
    return { verdict: warning(text, `Make it private: chmod 600 '${path}'`, facts), address };
  }
  return { verdict: good(`${name} signs and verifies, ${address}`, facts), address };
}
