/**
 * The completion script for zsh: one function per command, in the syntax of `_arguments`. It works as a file `_iota` in
 * a folder of $fpath, and by `source <(iota completions zsh)`.
 */

import { type Command, commonOptions, type OptionSpec } from "../command.ts";
import {
  allOptions,
  builtIns,
  type CommandNode,
  type Completion,
  completionOf,
  ownName,
  positionalCompletion,
} from "./command_tree.ts";

interface Named {
  readonly name: string;
  readonly summary: string;
}

export function zshCompletion(tree: readonly CommandNode[]): string {
  const commands = tree.map(({ command }) => command);
  return `#compdef iota
# Completion of iota for zsh. To have it in every shell, put it as _iota into a folder of $fpath:
#   iota completions zsh > ~/.zsh/completions/_iota

_iota() {
${dispatch([...commands, ...builtIns], { prefix: "_iota", options: commonOptions })}
}

_iota_help() {
  _arguments '1:command:(${commands.map(({ name }) => name).join(" ")})' '2:action:'
}

_iota_version() {
  _arguments
}

${tree.map(functionsOf).join("\n\n")}

if [ "$funcstack[1]" = "_iota" ]; then
  _iota "$@"
else
  compdef _iota iota
fi
`;
}

function functionsOf({ command, actions }: CommandNode): string {
  const name = functionName(command);
  if (actions.length === 0) return `${name}() {\n${argumentsCall(command)}\n}`;
  const group = dispatch(actions.map((action) => ({ name: ownName(action), summary: action.summary })), {
    prefix: name,
    options: allOptions(command),
  });
  return [
    `${name}() {\n${group}\n}`,
    ...actions.map((action) => `${functionName(action)}() {\n${argumentsCall(action)}\n}`),
  ]
    .join("\n\n");
}

const functionName = ({ name }: Command) => `_iota_${name.replaceAll(/[ -]/g, "_")}`;

function dispatch(
  choices: readonly Named[],
  { prefix, options }: { prefix: string; options: readonly OptionSpec[] },
): string {
  return `  local curcontext="$curcontext" state line
  typeset -A opt_args
  local -a choices
  choices=(
${choices.map(({ name, summary }) => `    ${quoted(`${name}:${summary.replaceAll(":", "\\:")}`)}`).join("\n")}
  )
  _arguments -C \\
${options.map((spec) => `    ${optionSpec(spec)} \\`).join("\n")}
    '1: :->choice' '*:: :->rest'
  case $state in
    choice) _describe 'iota' choices ;;
    rest)
      case $line[1] in
${choices.map(({ name }) => `        ${name}) ${prefix}_${name.replaceAll("-", "_")} ;;`).join("\n")}
      esac
      ;;
  esac`;
}

function argumentsCall(command: Command): string {
  const words = command.positionals === undefined
    ? []
    : [quoted(`*:${command.positionals.placeholder}:${action(positionalCompletion(command))}`)];
  return `  _arguments \\\n${
    [...allOptions(command).map(optionSpec), ...words].map((spec) => `    ${spec}`).join(" \\\n")
  }`;
}

function optionSpec(spec: OptionSpec): string {
  const doc = spec.doc.replaceAll("\\", "\\\\").replaceAll(/[[\]:]/g, "\\$&");
  if (spec.kind === "boolean") return quoted(`--${spec.name}[${doc}]`);
  return quoted(`--${spec.name}=[${doc}]:${spec.placeholder.replaceAll(":", "\\:")}:${action(completionOf(spec))}`);
}

function action(completion: Completion): string {
  if (completion === null) return " ";
  if (completion === "files") return "_files";
  if (completion === "folders") return "_files -/";
  return `(${completion.join(" ")})`;
}

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
