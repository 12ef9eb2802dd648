/** The orchestrator options that a run keeps between starts: key, TLS, address and log. Given options come first. */

import { resolve } from "node:path";
import type { HotkeyPlace } from "../../chain/wallet/wallet_place.ts";
import { knobAt } from "../../core/config/knobs.ts";
import type { OptionSpec, OptionValues } from "../terminal/command.ts";
import type { ConfigFile } from "../terminal/options/config_file.ts";
import { hubOptions } from "../terminal/options/hub_options.ts";
import { wordsOfEntry } from "../terminal/options/option_file.ts";
import { dataFolder, type Environment } from "../program/paths.ts";
import { namedFolder } from "./run_folder.ts";
import { overridesOf } from "../terminal/options/run_options.ts";
import { type KeptOptions, readSavedRun } from "./saved_run.ts";

const ofOneStart = ["host", "port", "loopback"];
const paths = ["tls-cert", "tls-key", "log-file", "wallet-path"];
const walletNames = ["wallet", "hotkey", "wallet-path"];

const keptSpecs: readonly OptionSpec[] = hubOptions.filter(({ name }) => !ofOneStart.includes(name));

/** `wallet`: where the signing key was found; null: the run's own key. */
export function optionsToKeep(options: OptionValues, wallet: HotkeyPlace | null): KeptOptions {
  const kept: Record<string, string | number> = {};
  for (const { name, kind } of keptSpecs) {
    if (!options.given(name) || walletNames.includes(name)) continue;
    const value = kind === "int" ? options.number(name) : options.text(name);
    if (value !== undefined) kept[name] = paths.includes(name) ? resolve(String(value)) : value;
  }
  if (wallet === null) return kept;
  return { ...kept, wallet: wallet.wallet, hotkey: wallet.hotkey, "wallet-path": resolve(wallet.folder) };
}

/** A wallet named now comes with its own hotkey and folder. */
export function wordsOfKept(kept: KeptOptions, given: OptionValues): string[] {
  const isOtherWallet = given.given("wallet");
  return keptSpecs.flatMap((spec) => {
    const isReplaced = given.given(spec.name) || (isOtherWallet && walletNames.includes(spec.name));
    return isReplaced ? [] : wordsOfEntry(spec, kept[spec.name]) ?? [];
  });
}

export async function keptWords(
  { options, runFile, environment }: { options: OptionValues; runFile: ConfigFile | null; environment: Environment },
): Promise<string[]> {
  if (options.flag("fresh")) return [];
  const saved = await readSavedRun(await folderOf({ options, runFile, environment })).catch(() => null);
  return saved === null || saved === "damaged" ? [] : wordsOfKept(saved.options, options);
}

async function folderOf(
  { options, runFile, environment }: { options: OptionValues; runFile: ConfigFile | null; environment: Environment },
): Promise<string> {
  const given = options.text("data");
  if (given !== undefined) return given;
  const name = (await overridesOf({ options, environment }))["name"] ?? runFile?.table["name"] ??
    knobAt("name").default;
  return namedFolder(dataFolder(environment), name);
}
