/**
 * The manual page iota(1) as roff, generated from the command table.
 *
 * Owns: escaping, so that no text becomes a request, and the sections that no command declares: exit codes, environment, files. Plain
 * `man` macros only, which groff and mandoc both know.
 */

import { type Command, commonOptions, type OptionSpec } from "../command.ts";
import { exitCodes } from "../output/exit_codes.ts";
import { version } from "../version.ts";
import { type CommandNode, everyCommand } from "./command_tree.ts";

export function manPage(tree: readonly CommandNode[]): string {
  const commands = everyCommand(tree);
  return [
    `.TH IOTA 1 "" ${quoted(`iota ${version}`)} "User Commands"`,
    ".SH NAME",
    "iota \\- strangers train one language model together",
    ".SH SYNOPSIS",
    ".B iota",
    ".I COMMAND",
    "[options]",
    ".SH DESCRIPTION",
    plain(
      "A model is cut into stages, each held by several miners. An orchestrator hands out the work; validators repeat " +
        "samples of it and set weights on a chain. This page lists every command; each has its own --help.",
    ),
    ".SH COMMANDS",
    ...commands.flatMap(commandSection),
    ".SH OPTIONS FOR EVERY COMMAND",
    ...commonOptions.flatMap(optionEntry),
    ".SH EXIT STATUS",
    ...exitCodes.flatMap(({ code, meaning }) => entry(`\\fB${code}\\fR`, meaning)),
    ".SH ENVIRONMENT",
    ...environment.flatMap(([name, meaning]) => entry(`\\fB${plain(name)}\\fR`, meaning)),
    ".SH FILES",
    ...paths.flatMap(([path, meaning]) => entry(`\\fI${plain(path)}\\fR`, meaning)),
    "",
  ].join("\n");
}

const environment: readonly (readonly [string, string])[] = [
  ["NO_COLOR", "if set to anything, output has no colours"],
  ["XDG_DATA_HOME", "the parent of the user data folder, instead of ~/.local/share"],
];

const paths: readonly (readonly [string, string])[] = [
  ["~/.local/share/iota", "the user data folder: runs, datasets and nodes' files"],
  ["~/.bittensor/wallets", "wallets, unless --wallet-path names another folder"],
];

function commandSection(command: Command): string[] {
  return [
    `.SS ${quoted(`iota ${command.name}`)}`,
    plain(`${command.summary[0]!.toUpperCase()}${command.summary.slice(1)}.`),
    ".PP",
    `.B ${plain(`iota ${command.usage}`)}`,
    ...(command.about === undefined ? [] : [".PP", plain(command.about)]),
    ...command.options.flatMap(optionEntry),
    ".PP",
    "Examples:",
    ".PP",
    ".RS 4",
    ".nf",
    ...command.examples.map(plain),
    ".fi",
    ".RE",
    ...(command.recipes ?? []).flatMap(({ title, lines }) => [
      ".PP",
      plain(`${title}:`),
      ".PP",
      ".RS 4",
      ".nf",
      ...lines.map(plain),
      ".fi",
      ".RE",
    ]),
  ];
}

function optionEntry(spec: OptionSpec): string[] {
  const value = spec.kind === "boolean" ? "" : ` \\fI${plain(spec.placeholder)}\\fR`;
  const choices = spec.kind === "choice" ? ` (${spec.choices.join(", ")})` : "";
  const standard = spec.defaultText ?? (spec.default === undefined ? "" : String(spec.default));
  return entry(
    `\\fB${plain(`--${spec.name}`)}\\fR${value}`,
    `${spec.doc}${choices}${standard === "" ? "" : ` [${standard}]`}`,
  );
}

const entry = (term: string, text: string): string[] => [".TP", term, plain(text)];

/** Text that roff prints literally: no escapes, no requests, hyphens that can be copied, ASCII only. */
function plain(text: string): string {
  const escaped = text.replaceAll("\\", "\\e").replaceAll("-", "\\-")
    .replaceAll(
      /[^\x20-\x7e]/gu,
      (letter) => `\\[u${letter.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}]`,
    );
  return escaped.replace(/^[.']/, "\\&$&");
}

const quoted = (text: string) => `"${plain(text).replaceAll('"', "\\(dq")}"`;
