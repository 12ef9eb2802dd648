/**
 * A command's shape. Help loads all command modules, so heavy imports (gpu, net, chain, the roles) belong inside `run`.
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
  readonly default?: OptionValue;
  readonly defaultText?: string; // for a default that is not constant: "from --size"
}

interface TextOption extends OptionCommon {
  readonly kind: "string";
  readonly placeholder: string; // "NAME"; "FILE" and "DIR" are completed as paths
  readonly suggestions?: readonly string[];
}

export interface NumberOption extends OptionCommon {
  readonly kind: "int" | "float";
  readonly placeholder: string;
  readonly min?: number;
  readonly max?: number;
}

interface FlagOption extends OptionCommon {
  readonly kind: "boolean";
}

interface ChoiceOption extends OptionCommon {
  readonly kind: "choice";
  readonly placeholder: string;
  readonly choices: readonly string[];
}

export type OptionSpec = TextOption | NumberOption | FlagOption | ChoiceOption;

/** An undeclared option, or the wrong kind, is our bug. */
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
  readonly commands: CommandTable;
  readonly environment: Environment;
  /** The folder of --data, or the user's; not created yet. */
  dataFolder(): string;
  /**
   * Aborted by the first Ctrl-C, SIGTERM, end of the terminal or of stdout's reader. Calling it takes over Ctrl-C: the
   * command must end by itself. A second Ctrl-C exits at once with 130.
   */
  interruption(): AbortSignal;
  /** After `interruption`, Ctrl-C asks `ends` first. True: it has ended something smaller than the command. */
  interceptInterrupt(ends: () => boolean): void;
  readonly readSensors: (() => Promise<string | null>) | null;
}

interface Positionals {
  readonly max: number;
  readonly placeholder: string;
  readonly choices?: readonly string[]; // for the first word; the command itself rejects others
}

export interface Command {
  readonly name: string;
  readonly summary: string; // one line, lower case, no full stop
  readonly usage: string; // "swarm [options]"
  readonly about?: string;
  readonly examples: readonly string[]; // whole command lines
  readonly recipes?: readonly Recipe[];
  readonly options: readonly OptionSpec[];
  readonly positionals?: Positionals;
  /** All other rights are given up before it runs. Absent: it may only print. */
  readonly rights?: Rights;
  /** A run's settings, either those or a node's options, or (absent) this command's options. */
  readonly configures?: "run" | "either";
  readonly takesHubTable?: boolean;
  /** Which of this machine's runs it takes unless one is named; null: none. */
  readonly takesOwnRun?: (given: Pick<CommandContext, "options" | "positionals">) => "newest" | "running" | null;
  /** Its own findings cover the data folder. */
  readonly judgesDataFolder?: boolean;
  /** A group's actions by name, each called as "wallet new". The group itself only says what is missing. */
  readonly actions?: CommandTable;
  run(context: CommandContext): Promise<number>; // exit code
}

export interface Program {
  readonly name: string;
  readonly about: string;
  readonly firstSteps: readonly (readonly [command: string, what: string])[];
  readonly commands: CommandTable;
  readonly topics?: TopicTable;
}

export interface HelpTopic {
  readonly about: string; // a paragraph
  readonly heading: string;
  readonly rows: readonly (readonly [name: string, text: string])[];
  readonly fields: Readonly<Record<string, unknown>>; // for --json
}

/** By the word after `help`. The overview prints the summaries and loads no page. */
type TopicTable = Readonly<
  Record<string, { readonly summary: string; readonly load: () => Promise<HelpTopic> }>
>;

interface Recipe {
  readonly title: string;
  readonly lines: readonly string[];
}

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

export function missingAction(group: string, { actions, next }: { actions: CommandTable; next: string }): UsageError {
  const known = Object.keys(actions).join(", ");
  return new UsageError(`iota ${group} needs an action: ${known}`, { next });
}
