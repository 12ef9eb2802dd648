/**
 * An `iota chain` command as a next step. It repeats this command line's endpoint and wallet options, or those of a
 * node's duty, so it works as intended when pasted. Pure.
 */

import type { OptionValues } from "../../terminal/command.ts";
import { shellWord } from "../../program/shell_words.ts";

/** Options that are repeated if they were typed. */
const repeated = ["endpoint", "netuid", "mechanism", "wallet", "hotkey", "wallet-path", "data"] as const;

/** Turns an action and its own options into the whole command: `register` into `iota chain register --endpoint local`. */
export type CommandTo = (words: string) => string;

/** `nextCommand(options, "register")`: `iota chain register --endpoint local --wallet alice`. */
export function nextCommand(options: OptionValues, words: string): string {
  const known = repeated.filter((name) => mayHave(words, name) && options.given(name));
  return ["iota chain", words, ...known.map((name) => `--${name} ${shellWord(valueOf(options, name))}`)].join(" ");
}

/** The same for a node, which knows its chain and its hotkey, but not the wallet whose coldkey pays. */
export function nodeCommand(of: { network: string; netuid: number; hotkey: string }): CommandTo {
  return (words) =>
    `iota chain ${words} --netuid ${of.netuid} --endpoint ${shellWord(of.network)}` +
    (mayHave(words, "hotkey") ? ` --hotkey ${shellWord(of.hotkey)}` : "");
}

/** A sentence of the chain's client with its commands, such as `iota chain register` in backticks, made whole. */
export function withWholeCommands(sentence: string, commandTo: CommandTo): string {
  return sentence.replaceAll(/`iota chain ([a-z][a-z0-9 .-]*)`/g, (_, words: string) => commandTo(words));
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
