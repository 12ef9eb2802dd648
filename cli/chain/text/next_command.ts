/**
 * An `iota chain` command as a next step. It repeats this command line's endpoint and wallet options, so it works as
 * intended when pasted. Pure.
 */

import type { OptionValues } from "../../command.ts";

/** Options that are repeated if they were typed. */
const repeated = ["endpoint", "netuid", "mechanism", "wallet", "hotkey", "wallet-path", "data"] as const;

/** Turns an action and its own options into the whole command: `register` into `iota chain register --endpoint local`. */
export type CommandTo = (words: string) => string;

/** `nextCommand(options, "register")`: `iota chain register --endpoint local --wallet alice`. */
export function nextCommand(options: OptionValues, words: string): string {
  const known = repeated.filter((name) => mayHave(words, name) && options.given(name));
  return ["iota chain", words, ...known.map((name) => `--${name} ${shellWord(valueOf(options, name))}`)].join(" ");
}

/** Actions that only query a subnet take no wallet; only weights have a mechanism. */
function mayHave(words: string, name: typeof repeated[number]): boolean {
  const [action] = words.split(" ");
  if (name === "mechanism") return ["weights", "commit", "status"].includes(action!);
  if (name === "endpoint" || name === "netuid" || name === "data") return true;
  return action !== "metagraph" && action !== "params";
}

const valueOf = (options: OptionValues, name: typeof repeated[number]): string =>
  name === "netuid" || name === "mechanism" ? String(options.number(name)) : options.text(name) ?? "";

/** Quoted for a POSIX shell. */
const shellWord = (word: string): string => /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
