/** The work is in cli/terminal/completions. */

import { closest, meantText } from "../terminal/options/args.ts";
import type { Command } from "../terminal/command.ts";
import { UsageError } from "../program/errors.ts";
import { printable } from "../terminal/text/format.ts";

const shells = ["bash", "zsh", "fish"] as const;

export const command: Command = {
  name: "completions",
  summary: "print a shell's completion script",
  usage: "completions bash|zsh|fish",
  about:
    "The script completes commands, actions, options, their choices, files and folders, and starts no process. Print it again " +
    "after an update.",
  examples: [
    "iota completions bash > ~/.local/share/bash-completion/completions/iota",
    "iota completions zsh > ~/.zsh/completions/_iota",
    "iota completions fish > ~/.config/fish/completions/iota.fish",
  ],
  options: [],
  positionals: { max: 1, placeholder: "SHELL", choices: shells },
  async run({ positionals: [name], output, commands }) {
    const shell = shells.find((known) => known === name);
    if (shell === undefined) throw unknownShell(name);
    const { loadTree } = await import("../terminal/completions/command_tree.ts");
    const tree = await loadTree(commands);
    const script = shell === "bash"
      ? (await import("../terminal/completions/bash_completion.ts")).bashCompletion(tree)
      : shell === "zsh"
      ? (await import("../terminal/completions/zsh_completion.ts")).zshCompletion(tree)
      : (await import("../terminal/completions/fish_completion.ts")).fishCompletion(tree);
    output.answer({ shell, script }, script.trimEnd());
    return 0;
  },
};

function unknownShell(name: string | undefined): UsageError {
  const known = shells.join(", ");
  return new UsageError(
    name === undefined
      ? `Name the shell: ${known}`
      : `The shell must be one of ${known}, but is '${printable(name)}'${meantText(closest(name, shells))}`,
    { next: "For example: iota completions bash" },
  );
}
