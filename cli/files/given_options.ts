/**
 * The options of one command: the command line, on top of the --config file. It is the only reader, so `service
 * install` accepts exactly what the role will accept.
 */

import { resolve } from "node:path";
import { type ParsedArguments, parseOptions } from "../terminal/options/args.ts";
import { type Command, commonOptions, type OptionValues } from "../terminal/command.ts";
import type { ConfigFile } from "../terminal/options/config_file.ts";
import { type Environment, expandHome } from "../program/paths.ts";
import { attempting, UsageError, UserError } from "../program/errors.ts";

interface GivenOptions extends ParsedArguments {
  readonly typed: OptionValues;
  readonly runFile: ConfigFile | null; // the --config file, if it is a run's
}

interface Typed {
  readonly words: readonly string[];
  readonly environment: Environment;
  readonly program?: string; // @default iota
}

export async function readOptions(command: Command, typed: Typed): Promise<GivenOptions> {
  const given = await mergeFile(command, typed);
  mustNotContradict(given.options);
  if (command.judgesDataFolder !== true) await mustBeFolder(given.options.text("data"));
  return given;
}

/** The file holds options of the command, or a run's settings with the options of its orchestrator. */
async function mergeFile(command: Command, { words, environment, program = "iota" }: Typed): Promise<GivenOptions> {
  const parse = (below: readonly string[] = []) =>
    parseOptions({
      ...{ words, below },
      options: [...command.options, ...commonOptions],
      maxPositionals: command.positionals?.max ?? 0,
      helpCommand: `${program} help ${command.name}`,
      expandPath: (path) => expandHome(path, environment),
    });
  const typed = parse();
  const path = typed.options.text("config");
  if (command.takesHubTable) {
    const { readRunFile, wordsOfHub } = await import("../terminal/options/run_file.ts");
    const { keptWords } = await import("./kept_options.ts");
    const runFile = await readRunFile(path);
    const given = runFile === null ? [] : wordsOfHub(runFile);
    const kept = await keptWords({ options: parse(given).options, runFile, environment });
    return { ...parse([...kept, ...given]), typed: typed.options, runFile };
  }
  if (path === undefined || command.configures === "either") return { ...typed, typed: typed.options, runFile: null };
  if (command.configures === "run") {
    const { readRunFile } = await import("../terminal/options/run_file.ts");
    return { ...typed, typed: typed.options, runFile: await readRunFile(path) };
  }
  const { wordsOfFile } = await import("../terminal/options/option_file.ts");
  const fromFile = await wordsOfFile(path, { program, command: command.name, options: command.options });
  return { ...parse(fromFile), typed: typed.options, runFile: null };
}

function mustNotContradict(options: OptionValues): void {
  if (!options.flag("quiet") || !options.flag("verbose")) return;
  throw new UsageError("--quiet and --verbose exclude each other", {
    next: "Leave one of them out",
  });
}

async function mustBeFolder(data: string | undefined): Promise<void> {
  if (data === undefined) return;
  const path = resolve(data);
  const found = await attempting({ action: "write to the data folder", value: path }, () => lookAt(path));
  if (found === null || found.isDirectory) return;
  throw new UserError(
    `Cannot use '${path}' as the data folder: it is not a folder`,
    {
      next: "Pass the path of an existing or new folder: --data DIR",
    },
  );
}

async function lookAt(path: string): Promise<Deno.FileInfo | null> {
  try {
    return await Deno.stat(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    if (error instanceof Deno.errors.NotCapable) return null; // the confined thread of a command that may not read there
    throw error;
  }
}
