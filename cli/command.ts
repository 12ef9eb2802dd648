/**
 * What a command is: its name, what help prints about it, the options it takes, and the function that runs it.
 *
 * Owns: the declarative shapes, the options every command has, and finding a command by name. Refuses: reading the
 * command line (args.ts) and printing (help_text.ts, output.ts). A command module must import lightly, because help loads all
 * of them: what is heavy (gpu, net, chain, the roles) is imported inside `run`.
 */

import type { Output } from "./output/output.ts";
import type { Environment } from "./paths.ts";
import type { Rights } from "./rights/rights.ts";

export type OptionValue = string | number | boolean;

interface OptionCommon {
  readonly name: string; // without dashes
  readonly doc: string; // one sentence, lower case, no full stop
  readonly default?: OptionValue; // the value when it is not given
  readonly defaultText?: string; // shown in help where the default is no constant: "from --size"
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

/** The parsed options of one command line. Asking for an undeclared option, or as another kind, is our bug. */
export interface OptionValues {
  text(name: string): string | undefined; // kinds string and choice
  number(name: string): number | undefined; // kinds int and float
  flag(name: string): boolean;
  /** Whether the person typed it, as against a default. */
  given(name: string): boolean;
}

export interface CommandContext {
  readonly options: OptionValues;
  readonly positionals: readonly string[];
  readonly output: Output;
  readonly commands: CommandTable; // of this program
  readonly environment: Environment;
  /** The folder of --data or the user's own; not made yet. */
  dataFolder(): string;
  /**
   * Aborted by the first Ctrl-C, SIGTERM, end of the terminal, or when the reader of stdout goes away. Calling it takes Ctrl-C over: the command
   * must then end by itself; a second Ctrl-C exits at once with 130.
   */
  interruption(): AbortSignal;
  /** What the machine's sensors say; null where nobody can read them. */
  readonly readSensors: (() => Promise<string | null>) | null;
}

/** Words beside the options. */
export interface Positionals {
  readonly max: number;
  readonly placeholder: string; // "FILE", for the manual and completion
  readonly choices?: readonly string[]; // for the first word; the command itself refuses others
}

export interface Command {
  readonly name: string;
  readonly summary: string; // one line, lower case, no full stop
  readonly usage: string; // "swarm [options]"
  readonly about?: string; // a paragraph for its own help
  readonly examples: readonly string[]; // whole command lines
  readonly recipes?: readonly Recipe[];
  readonly options: readonly OptionSpec[];
  readonly positionals?: Positionals; // none when absent
  /** What it may touch; all other rights are given up before it runs. Absent: it may only print. */
  readonly rights?: Rights;
  /** What the file of --config holds: the settings of a run, those or a node's options, or (when absent) this command's options. */
  readonly configures?: "run" | "either";
  /** Whether the [hub] table of a run's file sets options of this command. */
  readonly takesHubTable?: boolean;
  /** It says itself, among its findings, what is wrong with the data folder. */
  readonly judgesDataFolder?: boolean;
  /** Of a group such as `wallet`: its actions by name, each called "wallet new". The group itself then only says what is missing. */
  readonly actions?: CommandTable;
  /** Refuses words by their order, which the parsed options do not show. Gets all that stand behind the command's name. */
  checkWords?(words: readonly string[]): Promise<void>;
  run(context: CommandContext): Promise<number>; // exit code
}

/** Steps beside the command itself, each line as it is typed or written to a file. */
export interface Recipe {
  readonly title: string;
  readonly lines: readonly string[];
}

/** How `main` finds a command: nothing of it is loaded before it is asked for. */
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
    doc: "keep everything iota writes here",
  },
  { name: "json", kind: "boolean", doc: "print JSON lines, the summary last; logs go to stderr" },
  { name: "quiet", kind: "boolean", doc: "print only warnings, errors and the summary" },
  { name: "verbose", kind: "boolean", doc: "print debug logs, and the stack of unexpected errors" },
  { name: "no-color", kind: "boolean", doc: "print without colours; the variable NO_COLOR does the same" },
  { name: "help", kind: "boolean", doc: "explain this command" },
];
