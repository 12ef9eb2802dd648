/** The command table as plain data for the completion scripts. */

import { type Command, type CommandTable, commonOptions, type OptionSpec } from "../command.ts";

export interface CommandNode {
  readonly command: Command;
  readonly actions: readonly Command[];
}

export async function loadTree(table: CommandTable): Promise<CommandNode[]> {
  return await Promise.all(
    Object.values(table).map(async (load) => {
      const command = await load();
      return { command, actions: await Promise.all(Object.values(command.actions ?? {}).map((load) => load())) };
    }),
  );
}

/** Groups come before their actions. */
export function everyCommand(tree: readonly CommandNode[]): Command[] {
  return tree.flatMap(({ command, actions }) => [command, ...actions]);
}

export function allOptions(command: Command): OptionSpec[] {
  return [...command.options, ...commonOptions];
}

/** `status` of `chain status`. */
export function ownName({ name }: Pick<Command, "name">): string {
  return name.slice(name.indexOf(" ") + 1);
}

export type Completion = "files" | "folders" | readonly string[] | null; // null: only the user knows

export function completionOf(spec: OptionSpec): Completion {
  if (spec.kind === "choice") return spec.choices;
  if (spec.kind !== "string") return null;
  return spec.suggestions ?? pathCompletion(spec.placeholder);
}

export function positionalCompletion({ positionals }: Command): Completion {
  return positionals === undefined ? null : positionals.choices ?? pathCompletion(positionals.placeholder);
}

function pathCompletion(placeholder: string): Completion {
  return placeholder === "FILE" ? "files" : placeholder === "DIR" ? "folders" : null;
}

/** Handled by main.ts. */
export const builtIns = [
  { name: "help", summary: "explain a command" },
  { name: "version", summary: "print the version" },
] as const;
