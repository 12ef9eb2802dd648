/**
 * `iota config check FILE`: reports all problems of a file, each with its line. Exit code 1 if there are any. The files
 * that it names are checked as its command would, from the current folder.
 */

import { present } from "../../../core/assert.ts";
import type { Command, CommandContext, CommandTable } from "../../terminal/command.ts";
import { expandHome } from "../../program/paths.ts";
import { type ConfigFile, parseConfigFile, placeProblems, readConfigFile } from "../../terminal/options/config_file.ts";
import { UsageError, UserError } from "../../program/errors.ts";
import { optionProblems } from "../../terminal/options/option_file.ts";
import { resolveRunFile } from "../../terminal/options/run_file.ts";
import { shellWord } from "../../program/shell_words.ts";
import { plural, printable } from "../../terminal/text/format.ts";
import { type FilePurpose, filePurposes, isRunFile } from "../../terminal/options/file_kind.ts";
import { namedFileProblems, walletNote } from "./named_files.ts";

interface CheckedFile {
  readonly purpose: FilePurpose;
  readonly problems: readonly string[];
  readonly note?: string | null;
  readonly isEmpty?: boolean;
}

export async function checkConfig(context: CommandContext): Promise<number> {
  const { output, options, environment, positionals: [typed] } = context;
  if (typed === undefined) {
    throw new UsageError("The FILE to check is missing", {
      next: `Type: iota config check ${shellWord(options.text("config") ?? "run.toml")}`,
    });
  }
  const path = expandHome(typed, environment);
  const given = purposeOf(context);
  const { purpose, problems, note = null, isEmpty = false } = await checkFile(path, { given, context });
  for (const text of problems) {
    output.event({ type: "problem", text });
    output.line(`${output.paint.red("×")} ${printable(text)}`);
  }
  if (note !== null) {
    output.event({ type: "note", text: note });
    output.line(`${output.paint.yellow("○")} not ready yet: ${printable(note)}`);
  }
  const count = problems.length;
  const kind = isEmpty && given === null
    ? "it sets nothing, so it suits a run, a miner and a validator"
    : purpose === "run"
    ? "the settings of a run"
    : `options of iota ${purpose}`;
  const text = count === 0
    ? `${output.paint.green("●")} ${path} is valid: ${kind}`
    : `${path} has ${plural(count, "problem")}: ${kind}`;
  output.answer({ path, purpose, problems: count, isValid: count === 0 }, text);
  return count === 0 ? 0 : 1;
}

export function purposeOf({ options }: CommandContext): FilePurpose | null {
  return filePurposes.find((purpose) => purpose === options.text("for")) ?? null;
}

async function checkFile(
  path: string,
  { given, context }: { given: FilePurpose | null; context: CommandContext },
): Promise<CheckedFile> {
  let file: ConfigFile;
  try {
    file = await readConfigFile(path, { makes: given ?? "run" });
  } catch (error) {
    const isSyntax = error instanceof UserError && error.message.startsWith(`${path}:`);
    if (!isSyntax) throw error;
    return { purpose: given ?? "run", problems: [error.message] };
  }
  const { purpose, problems } = await problemsOf(file, { given, commands: context.commands });
  const ofFiles = placeProblems({ problems: await namedFileProblems(file, { purpose, context }), file });
  const note = await walletNote(file, { purpose, context });
  return { purpose, problems: [...problems, ...ofFiles], note, isEmpty: Object.keys(file.table).length === 0 };
}

/** The files that the settings name are not checked. */
async function problemsOf(
  file: ConfigFile,
  { given, commands }: { given: FilePurpose | null; commands: CommandTable },
): Promise<CheckedFile> {
  if (given === "run" || (given === null && isRunFile(file.table))) {
    const resolved = resolveRunFile({ table: file.table });
    return { purpose: "run", problems: resolved.ok ? [] : placeProblems({ problems: resolved.problems, file }) };
  }
  const purposes = given === null ? ["miner", "validate"] as const : [given];
  const checked = await Promise.all(purposes.map(async (purpose): Promise<CheckedFile> => {
    const { options } = await nodeCommand(purpose, commands);
    const problems = optionProblems(file, options).map(({ line, text }) => `${file.path}:${line}: ${text}`);
    return { purpose, problems };
  }));
  return checked.toSorted((a, b) => a.problems.length - b.problems.length)[0]!;
}

export async function isRight(
  text: string,
  { purpose, commands }: { purpose: FilePurpose; commands: CommandTable },
): Promise<boolean> {
  const { problems } = await problemsOf(parseConfigFile({ path: "new", text }), { given: purpose, commands });
  return problems.length === 0;
}

export async function nodeCommand(purpose: Exclude<FilePurpose, "run">, commands: CommandTable): Promise<Command> {
  return await present(commands[purpose], "every kind of node has a command")();
}
