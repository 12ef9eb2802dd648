/** The completion script for fish: one line for each possible next word, conditional on the commands before it. */

import { type Command, commonOptions, type OptionSpec } from "../command.ts";
import {
  builtIns,
  type CommandNode,
  type Completion,
  completionOf,
  everyCommand,
  ownName,
  positionalCompletion,
} from "./command_tree.ts";

export function fishCompletion(tree: readonly CommandNode[]): string {
  const commands = everyCommand(tree);
  const valued = [...commands.flatMap(({ options }) => options), ...commonOptions].filter(({ kind }) =>
    kind !== "boolean"
  );
  const names = [...new Set(valued.map(({ name }) => `--${name}`))];
  const roots = [...tree.map(({ command }) => command), ...builtIns];
  return `# Completion of iota for fish. To have it in every shell:
#   iota completions fish > ~/.config/fish/completions/iota.fish

set -g __iota_valued ${names.join(" ")}

function __iota_path
  set -l words (commandline -opc)
  set -e words[1]
  set -l path
  set -l skips no
  for word in $words
    if test $skips = yes
      set skips no
    else if contains -- $word $__iota_valued
      set skips yes
    else if not string match -q -- '-*' $word
      set -a path $word
    end
  end
  echo "$path"
end

function __iota_is
  test (__iota_path) = "$argv"
end

function __iota_in
  set -l path (__iota_path)
  test "$path" = "$argv"; or string match -q -- "$argv *" $path
end

complete -c iota -f
${roots.map(({ name, summary }) => wordLine("__iota_is ''", { word: name, doc: summary })).join("\n")}
${tree.map(({ command: { name, summary } }) => wordLine("__iota_is help", { word: name, doc: summary })).join("\n")}
${commonOptions.map((spec) => optionLine("", spec)).join("\n")}
${tree.flatMap(nodeLines).join("\n")}
`;
}

function nodeLines({ command, actions }: CommandNode): string[] {
  return [
    ...actions.map((action) => wordLine(`__iota_is ${command.name}`, { word: ownName(action), doc: action.summary })),
    ...[command, ...actions].flatMap(commandLines),
  ];
}

function commandLines(command: Command): string[] {
  const completion = positionalCompletion(command);
  const condition = `__iota_in ${command.name}`;
  const words = completion === null
    ? []
    : [`complete -c iota -n ${quoted(condition)}${behind(completion).replace(" -x", "").replace(" -r", "")}`];
  // an action that takes its group's options declares them again
  const own = command.actions === undefined ? condition : `__iota_is ${command.name}`;
  return [...command.options.map((spec) => optionLine(own, spec)), ...words];
}

function wordLine(condition: string, { word, doc }: { word: string; doc: string }): string {
  return `complete -c iota -n ${quoted(condition)} -a ${word} -d ${quoted(doc)}`;
}

function optionLine(condition: string, spec: OptionSpec): string {
  const when = condition === "" ? "" : ` -n ${quoted(condition)}`;
  const value = spec.kind === "boolean" ? "" : behind(completionOf(spec));
  return `complete -c iota${when} -l ${spec.name}${value} -d ${quoted(spec.doc)}`;
}

/** -r needs a value, -x needs one that is not a file, -F allows files. */
function behind(completion: Completion): string {
  if (completion === null) return " -x";
  if (completion === "files") return " -r -F";
  if (completion === "folders") return ` -x -a '(__fish_complete_directories)'`;
  return ` -x -a ${quoted(completion.join(" "))}`;
}

const quoted = (text: string) => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
