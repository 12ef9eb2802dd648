/**
 * The shape of a command: its name, its help, its options, and the function that runs it. Help loads all command
 * modules, so they must be light: heavy imports (gpu, net, chain, the roles) belong inside `run`.
 */

import { logFormats, logLevels } from "./output/log.ts";
import type { Output } from "./output/output.ts";
import type { Environment } from "../program/paths.ts";
import type { Rights } from "../rights/rights.ts";
import { UsageError } from "../program/errors.ts";

export type OptionValue = string | number | boolean;

interface OptionCommon {
  readonly name: string; // without dashes
  readonly doc: string; // one sentence, lower case, no full stop
  readonly default?: OptionValue; // the value when it is not given
  readonly defaultText?: string; // shown in help when the default is not a constant: "from --size"
}

export interface TextOption extends OptionCommon {
  readonly kind: "string";
  readonly placeholder: string; // "NAME", "URL"; "FILE" and "DIR" are completed as paths
  readonly suggestions?: readonly string[]; // likely values, for completion
}

export interface NumberOption extends OptionCommon {
  readonly kind: "int" | "float";
  readonly placeholder: string;
  readonly min?: number;
  readonly max?: number;
}

export interface FlagOption extends OptionCommon {
  readonly kind: "boolean";
}

export interface ChoiceOption extends OptionCommon {
  readonly kind: "choice";
  readonly placeholder: string;
  readonly choices: readonly string[];
}

export type OptionSpec = TextOption | NumberOption | FlagOption | ChoiceOption;

/** Asking for an undeclared option, or for the wrong kind, is our bug. */
export interface OptionValues {
  text(name: string): string | undefined; // kinds string and choice
  number(name: string): number | undefined; // kinds int and float
  flag(name: string): boolean;
  given(name: string): boolean;
}

export interface CommandContext {
  readonly options: OptionValues;
  readonly positionals: readonly string[];
  readonly output: Output;
  readonly commands: CommandTable; // all commands of this program
  readonly environment: Environment;
  /** The folder of --data, or the user's data folder; not created yet. */
  dataFolder(): string;
  /**
   * Aborted by the first Ctrl-C, SIGTERM, end of the terminal, or when the reader of stdout goes away. Calling it takes
   * over Ctrl-C: the command must then end by itself. A second Ctrl-C exits at once with 130.
   */
  interruption(): AbortSignal;
  /** Null where they cannot be read. */
  readonly readSensors: (() => Promise<string | null>) | null;
}

export interface Positionals {
  readonly max: number;
  readonly placeholder: string; // "FILE", for the manual and completion
  readonly choices?: readonly string[]; // for the first word; the command itself rejects others
}

export interface Command {
  readonly name: string;
  readonly summary: string; // one line, lower case, no full stop
  readonly usage: string; // "swarm [options]"
  readonly about?: string; // a paragraph for the command's help
  readonly examples: readonly string[]; // whole command lines
  readonly recipes?: readonly Recipe[];
  readonly options: readonly OptionSpec[];
  readonly positionals?: Positionals; // none when absent
  /** The rights it needs; all others are given up before it runs. Absent: it may only print. */
  readonly rights?: Rights;
  /** A run's settings, either those or a node's options, or (when absent) this command's options. */
  readonly configures?: "run" | "either";
  readonly takesHubTable?: boolean;
  /** Which run of this machine it takes where the command line names none; null: none. */
  readonly takesOwnRun?: (given: Pick<CommandContext, "options" | "positionals">) => "newest" | "running" | null;
  /** Its own findings say what is wrong with the data folder. */
  readonly judgesDataFolder?: boolean;
  /**
   * For a group such as `wallet`: its actions by name, each called as "wallet new". The group itself then only says
   * what is missing.
   */
  readonly actions?: CommandTable;
  run(context: CommandContext): Promise<number>; // exit code
}

export interface Program {
  readonly name: string;
  readonly about: string; // one sentence
  readonly firstSteps: readonly (readonly [command: string, what: string])[];
  readonly commands: CommandTable;
  readonly topics?: TopicTable;
}

export interface HelpTopic {
  readonly about: string; // a paragraph
  readonly heading: string;
  readonly rows: readonly (readonly [name: string, text: string])[];
  readonly fields: Readonly<Record<string, unknown>>; // the rows for --json
}

/** By the word after `help`. The overview prints the summaries, so only the page itself is loaded when needed. */
export type TopicTable = Readonly<
  Record<string, { readonly summary: string; readonly load: () => Promise<HelpTopic> }>
>;

/** Each line is typed or written to a file as it is. */
export interface Recipe {
  readonly title: string;
  readonly lines: readonly string[];
}

/** How `main` finds a command; nothing is loaded before it is needed. */
export type CommandTable = Readonly<Record<string, () => Promise<Command>>>;

export const commonOptions: readonly OptionSpec[] = [
  {
    name: "config",
    kind: "string",
    placeholder: "FILE",
    doc: "read settings from this TOML file; options on the command line win",
  },
  {
    name: "data",
    kind: "string",
    placeholder: "DIR",
    defaultText: "your user data folder",
    doc: "the folder for everything iota writes",
  },
  { name: "json", kind: "boolean", doc: "print JSON lines, the summary or an error last; logs go to stderr" },
  { name: "quiet", kind: "boolean", doc: "print only warnings, errors and the summary" },
  { name: "verbose", kind: "boolean", doc: "print more details, debug logs, and the stack of unexpected errors" },
  {
    name: "log-level",
    kind: "choice",
    placeholder: "LEVEL",
    choices: logLevels,
    defaultText: "info, warn with --quiet, debug with --verbose",
    doc: "log this and what is worse, on stderr and in a log file",
  },
  {
    name: "log-format",
    kind: "choice",
    placeholder: "FORMAT",
    choices: logFormats,
    default: "text",
    doc: 'log lines as text, or as JSON objects with "time", "level" and "text"',
  },
  { name: "no-color", kind: "boolean", doc: "print without colours, as with the variable NO_COLOR" },
  { name: "help", kind: "boolean", doc: "show help for this command" },
];

/** It lists the actions and suggests a first one. */
export function missingAction(group: string, { actions, next }: { actions: CommandTable; next: string }): UsageError {
  const known = Object.keys(actions).join(", ");
  return new UsageError(`iota ${group} needs an action: ${known}`, { next });
}
