/**
 * A command of `iota chain` as a next step: with the options of this command line that say where and who, so that it does the
 * intended thing when it is pasted. Pure.
 */

import type { OptionValues } from "../../command.ts";

/** Of these, what was typed is repeated. */
const repeated = ["endpoint", "netuid", "mechanism", "wallet", "hotkey", "wallet-path", "data"] as const;

/** From an action and its own options to the whole command: `register` to `iota chain register --endpoint local`. */
export type CommandTo = (words: string) => string;

/** `nextCommand(options, "register")`: `iota chain register --endpoint local --wallet alice`. */
export function nextCommand(options: OptionValues, words: string): string {
  const known = repeated.filter((name) => mayHave(words, name) && options.given(name));
  return ["iota chain", words, ...known.map((name) => `--${name} ${shellWord(valueOf(options, name))}`)].join(" ");
}

/** What only asks about a subnet takes no wallet; only weights have a mechanism. */
function mayHave(words: string, name: typeof repeated[number]): boolean {
  const [action] = words.split(" ");
  if (name === "mechanism") return ["weights", "commit", "status"].includes(action!);
  if (name === "endpoint" || name === "netuid" || name === "data") return true;
  return action !== "metagraph" && action !== "params";
}

const valueOf = (options: OptionValues, name: typeof repeated[number]): string =>
  name === "netuid" || name === "mechanism" ? String(options.number(name)) : options.text(name) ?? "";

/** As a POSIX shell takes it. */
const shellWord = (word: string): string => /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
