/**
 * The completion script for bash; pressing Tab starts no process.
 *
 * `_iota_words PATH` sets what can follow a command. Bash splits words at `=`, so `--codec=io` arrives as three. Works
 * with macOS's bash 3.2.
 */

import type { Command, OptionSpec } from "../command.ts";
import { commonOptions } from "../command.ts";
import {
  allOptions,
  builtIns,
  type CommandNode,
  type Completion,
  completionOf,
  ownName,
  positionalCompletion,
} from "./command_tree.ts";

export function bashCompletion(tree: readonly CommandNode[]): string {
  const commands = tree.map(({ command }) => command.name);
  const groups = tree.filter(({ actions }) => actions.length > 0);
  const places = [
    place("", { actions: [...commands, ...builtIns.map(({ name }) => name)], options: commonOptions }),
    place("help", { actions: commands, options: commonOptions }),
    ...groups.map((group) => place(`help ${group.command.name}`, { actions: group.actions.map(ownName), options: [] })),
    ...tree.flatMap(({ command, actions }) => [
      place(command.name, { actions: actions.map(ownName), options: allOptions(command) }),
      ...actions.map((action) => place(action.name, { actions: [], options: allOptions(action) })),
    ]),
  ];
  const all = tree.flatMap(({ command, actions }) => [command, ...actions]);
  return `${head}
_iota_words() {
  case "$1" in
${places.join("\n")}
    *) actions="" flags="" valued="" ;;
  esac
}

_iota_values() {
  case "$1" in
${all.flatMap(valueLines).join("\n")}
${commonOptions.flatMap((spec) => valueLine("*", spec)).join("\n")}
  esac
}

_iota_positionals() {
  case "$1" in
${all.flatMap((command) => caseLine(`"${command.name}"`, positionalCompletion(command))).join("\n")}
  esac
}
${tail}`;
}

function place(
  path: string,
  { actions, options }: { actions: readonly string[]; options: readonly OptionSpec[] },
): string {
  const names = (kind: "flags" | "valued") =>
    options.filter((spec) => (spec.kind === "boolean") === (kind === "flags")).map(({ name }) => `--${name}`).join(" ");
  return `    "${path}") actions="${actions.join(" ")}" flags="${names("flags")}" valued="${names("valued")}" ;;`;
}

function valueLines(command: Command): string[] {
  return command.options.flatMap((spec) => valueLine(command.name, spec));
}

function valueLine(path: string, spec: OptionSpec): string[] {
  return caseLine(path === "*" ? `*" --${spec.name}"` : `"${path} --${spec.name}"`, completionOf(spec));
}

function caseLine(pattern: string, completion: Completion): string[] {
  if (completion === null) return [];
  if (completion === "files") return [`    ${pattern}) _iota_paths -f ;;`];
  if (completion === "folders") return [`    ${pattern}) _iota_paths -d ;;`];
  return [`    ${pattern}) COMPREPLY=($(compgen -W "${completion.join(" ")}" -- "$cur")) ;;`];
}

const head = `# Completion of iota for bash. To have it in every shell:
#   iota completions bash > ~/.local/share/bash-completion/completions/iota
`;

const tail = `
_iota_paths() {
  local path
  COMPREPLY=()
  while IFS= read -r path; do COMPREPLY+=("$path"); done < <(compgen "$1" -- "$cur")
  compopt -o filenames 2>/dev/null
}

_iota() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" path="" option="" word i actions flags valued
  COMPREPLY=()
  _iota_words ""
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="\${COMP_WORDS[i]}"
    if [[ -n $option ]]; then
      [[ $word == "=" ]] || option=""
    elif [[ " $valued " == *" $word "* ]]; then
      option="$word"
    elif [[ $word != -* && " $actions " == *" $word "* ]]; then
      path="\${path:+$path }$word"
      _iota_words "$path"
    fi
  done
  [[ $cur == "=" ]] && cur=""
  if [[ -n $option ]]; then
    _iota_values "$path $option"
  elif [[ $cur == -* ]]; then
    COMPREPLY=($(compgen -W "$flags $valued" -- "$cur"))
  elif [[ -n $actions ]]; then
    COMPREPLY=($(compgen -W "$actions" -- "$cur"))
  else
    _iota_positionals "$path"
  fi
}

complete -F _iota iota
`;
