/** A command line: finds the command, parses its options, runs it and turns the outcome into an exit code. */

import { closest, meantText, parseOptions, splitCommand } from "./terminal/options/args.ts";
import {
  type Command,
  type CommandContext,
  type CommandTable,
  commonOptions,
  type OptionSpec,
  type Program,
} from "./terminal/command.ts";
import { iota } from "./command_table.ts";
import type { ConfigFile } from "./terminal/options/config_file.ts";
import {
  exitFailed,
  exitInterrupted,
  interrupted,
  Stopped,
  Terminated,
  UsageError,
  UserError,
} from "./program/errors.ts";
import { commandText, overviewText, type Page, topicText } from "./terminal/help_text.ts";
import { readOptions } from "./files/given_options.ts";
import type { Host, Interrupt } from "./rights/host.ts";
import { logLevels } from "./terminal/output/log.ts";
import { TerminalOutput } from "./terminal/output/output.ts";
import { dataFolder } from "./program/paths.ts";
import { resolveRights } from "./terminal/resolve_rights.ts";
import type { HeldRights } from "./rights/rights.ts";
import { printable } from "./terminal/text/format.ts";
import { ownProgram } from "./program/self.ts";
import { version } from "./program/version.ts";

const widestHelp = 100; // columns

export async function main(words: readonly string[], host: Host, program: Program = iota): Promise<number> {
  const asked = (flag: string) => beforeDashes(words).includes(flag);
  const logLevel = logLevels.find((level) => level === lastValue(words, "--log-level"));
  const output = new TerminalOutput({
    ...(logLevel === undefined ? {} : { logLevel }),
    logFormat: lastValue(words, "--log-format") === "json" ? "json" : "text",
    host,
    json: asked("--json"),
    quiet: asked("--quiet"),
    verbose: asked("--verbose"),
    noColor: asked("--no-color"),
  });
  host.onUncaught((error) => {
    const exitCode = explain(error, { output, verbose: asked("--verbose") });
    output.close();
    host.exit(exitCode);
  });
  try {
    const exitCode = await dispatch({ words, output, program });
    output.close(); // prints the summary, which may fail
    return exitCode;
  } catch (error) {
    const exitCode = explain(error, { output, verbose: asked("--verbose") });
    output.close();
    return exitCode;
  }
}

/** The words after `--` are for another program. */
function beforeDashes(words: readonly string[]): readonly string[] {
  const end = words.indexOf("--");
  return end < 0 ? words : words.slice(0, end);
}

/** Comes before the options are parsed, which refuses what is wrong with it. */
function lastValue(words: readonly string[], option: string): string | undefined {
  return beforeDashes(words).reduce<string | undefined>((value, word, i, all) => {
    if (word === option) return all[i + 1];
    return word.startsWith(`${option}=`) ? word.slice(option.length + 1) : value;
  }, undefined);
}

interface Invocation {
  readonly words: readonly string[];
  readonly output: TerminalOutput;
  readonly program: Program;
}

async function dispatch({ words, output, program }: Invocation): Promise<number> {
  const { commands: table, name: own } = program;
  const { name, rest } = splitCommand(words, await optionsBefore(words, table));
  const isAsked = (flag: string) => beforeDashes(rest).includes(flag);
  if (name === "version" || isAsked("--version") || isAsked("-V")) {
    output.answer({ version }, `${own} ${version}`);
    return 0;
  }
  if (name === undefined || name === "help") {
    const { positionals: [asked, ...behind] } = parseOptions({
      words: rest,
      options: commonOptions,
      maxPositionals: 2,
      helpCommand: `${own} help`,
    });
    if (asked === undefined) return await printOverview({ output, program });
    if (Object.hasOwn(program.topics ?? {}, asked)) return await printTopic(asked, { output, program });
    return await printHelp([asked, ...behind], { output, program });
  }
  if (isAsked("--help") || isAsked("-h")) return await printHelp([name, ...rest], { output, program });
  const { command, words: ownWords } = await chooseCommand([name, ...rest], program);
  const { environment, readSensors } = output.host;
  (await import("./program/outbound.ts")).openOutbound(environment); // help needs none
  const { options, positionals, runFile } = await readOptions(command, { words: ownWords, environment, program: own });
  const { host } = output;
  const context: CommandContext = {
    options,
    positionals,
    output,
    commands: table,
    environment,
    dataFolder: () => dataFolder(environment, options.text("data")),
    ...interruptionOf(output),
    readSensors,
  };
  const taken = command.takesOwnRun?.({ options, positionals }) ?? null;
  const run = taken === null
    ? null
    : await (await import("./node/find/own_runs.ts")).takeOwnRun(context, { command: command.name, taken });
  if (run !== null) return await dispatch({ words: withOption(words, `--run=${run}`), output, program });
  const held = await heldBy(command, { context, runFile });
  return await (host.confine(held, words) ?? command.run(context));
}

function withOption(words: readonly string[], option: string): readonly string[] {
  const before = beforeDashes(words);
  return [...before, option, ...words.slice(before.length)];
}

/** From the merged settings, because a path may be in a file or on the command line. */
async function heldBy(
  command: Command,
  { context, runFile }: { context: CommandContext; runFile: ConfigFile | null },
): Promise<HeldRights> {
  const { options, environment, dataFolder } = context;
  const names = new Set([...command.options, ...commonOptions].map(({ name }) => name));
  const readsCorpus = command.rights?.read !== "any" && command.rights?.read?.includes("corpus");
  const corpora = readsCorpus ? await corporaOf(context, runFile) : [];
  const readsRuns = command.rights?.read !== "any" && command.rights?.read?.includes("runs") && options.flag("own");
  const runs = readsRuns ? await (await import("./node/find/own_runs.ts")).foldersOfRuns({ options, environment }) : [];
  return resolveRights({
    rights: command.rights,
    options,
    declares: (name) => names.has(name),
    environment,
    dataFolder,
    corpora,
    runs,
    ...ownProgram(environment),
  });
}

/** A run that goes on has its dataset's place in its folder. */
async function corporaOf(context: CommandContext, runFile: ConfigFile | null): Promise<string[]> {
  const corpus = await (await import("./terminal/options/run_options.ts")).corpusFile(context, runFile?.table ?? {});
  const places = await (await import("./model/data/dataset_places.ts")).datasetPlaces(context.dataFolder());
  return corpus === null ? places : [corpus, ...places];
}

/** A command's options may stand before its name; all commands' options are needed to tell the two apart. */
async function optionsBefore([first = ""]: readonly string[], table: CommandTable): Promise<readonly OptionSpec[]> {
  const isCommon = commonOptions.some(({ name }) => first === `--${name}`);
  if (!first.startsWith("--") || first === "--" || isCommon) return commonOptions;
  const commands = await Promise.all(Object.values(table).map((load) => load()));
  return [...commonOptions, ...commands.flatMap(({ options }) => options)];
}

async function printOverview({ output, program }: Omit<Invocation, "words">): Promise<number> {
  const commands = await Promise.all(Object.values(program.commands).map((load) => load()));
  const topics = Object.entries(program.topics ?? {}).map(([name, { summary }]) => ({ name, summary }));
  output.answer(
    { commands: commands.map(nameAndSummary), topics },
    overviewText(commands, pageOf({ output, program })),
  );
  return 0;
}

async function printTopic(name: string, { output, program }: Omit<Invocation, "words">): Promise<number> {
  const { summary, load } = program.topics![name]!;
  const topic = await load();
  output.answer({ topic: name, summary, ...topic.fields }, topicText(topic, pageOf({ output, program })));
  return 0;
}

/** `words`: the command, then the words after it, of which only an action's name matters. */
async function printHelp(words: readonly string[], { output, program }: Omit<Invocation, "words">): Promise<number> {
  const { command } = await chooseCommand(words, program);
  const { name, summary, usage, examples, options } = command;
  const actions = await Promise.all(Object.values(command.actions ?? {}).map((load) => load()));
  const listed = actions.length === 0 ? {} : { actions: actions.map(nameAndSummary) };
  output.answer(
    { command: name, summary, usage: `${program.name} ${usage}`, ...listed, options, examples },
    commandText({ command, actions }, pageOf({ output, program })),
  );
  return 0;
}

function pageOf({ output, program }: Omit<Invocation, "words">): Page {
  const columns = output.host.terminalSize()?.columns ?? widestHelp;
  return { program, paint: output.paint, width: Math.min(columns, widestHelp) };
}

const nameAndSummary = ({ name, summary }: Command) => ({ name, summary });

interface ChosenCommand {
  readonly command: Command;
  readonly words: readonly string[];
}

/** For a group, the first word after its name that is not an option names the action. */
async function chooseCommand([name, ...words]: readonly string[], program: Program): Promise<ChosenCommand> {
  const topics = Object.keys(program.topics ?? {});
  const command = await loadCommand([name!], { program: program.name, commands: program.commands, topics });
  if (command.actions === undefined) return { command, words };
  const { name: action, rest } = splitCommand(words, [...command.options, ...commonOptions]);
  if (action === undefined) return { command, words };
  return {
    command: await loadCommand([name!, action], { program: program.name, commands: command.actions }),
    words: rest,
  };
}

/** The parts before the last name the group in the message. */
async function loadCommand(
  path: readonly string[],
  { program, commands: table, topics = [] }: { program: string; commands: CommandTable; topics?: readonly string[] },
): Promise<Command> {
  const name = path.at(-1)!;
  const load = Object.hasOwn(table, name) ? table[name] : undefined;
  if (load !== undefined) return await load();
  const group = path.slice(0, -1).map((part) => `${part} `).join("");
  const guess = closest(name, [...Object.keys(table), ...topics]) ?? await closestAction(name, table);
  const list = `${program} help ${group}`.trimEnd();
  throw new UsageError(`There is no command '${printable(path.join(" "))}'${meantText(guess)}`, {
    next: guess === undefined ? `See the list: ${list}` : `See ${program} help ${group}${guess}, or the list: ${list}`,
  });
}

async function closestAction(name: string, table: CommandTable): Promise<string | undefined> {
  const commands = await Promise.all(Object.values(table).map((load) => load()));
  const actions = commands.flatMap((group) => Object.keys(group.actions ?? {}).map((action) => ({ group, action })));
  const guess = closest(name, actions.map(({ action }) => action));
  const found = actions.find(({ action }) => action === guess);
  return found === undefined ? undefined : `${found.group.name} ${found.action}`;
}

/** Ctrl-C is taken over only when a command asks for the signal. */
function interruptionOf(output: TerminalOutput): Pick<CommandContext, "interruption" | "interceptInterrupt"> {
  const controller = new AbortController();
  let subscribed = false;
  let intercept = () => false;
  output.onReaderGone = () => {
    if (subscribed) {
      controller.abort(new UserError("The reader of the output closed it, so nothing more can be printed"));
    } else output.host.exit(0);
  };
  const interruption = () => {
    if (subscribed) return controller.signal;
    subscribed = true;
    const stop = (signal: Interrupt | "key") => {
      if (signal === "SIGINT" && !controller.signal.aborted && intercept()) return;
      if (controller.signal.aborted) {
        if (signal === "SIGHUP") return; // the shell and the system both send it as a terminal closes
        output.close();
        output.host.exit(exitInterrupted);
        return;
      }
      output.log.info("stopping; press Ctrl-C again to exit at once");
      controller.abort(signal === "SIGINT" ? new Stopped() : new Terminated());
    };
    output.host.onInterrupt(stop);
    output.onAskedToStop = () => stop("key");
    return controller.signal;
  };
  output.onLiveOpened = interruption;
  return { interruption, interceptInterrupt: (ends) => intercept = ends };
}

function explain(error: unknown, { output, verbose }: { output: TerminalOutput; verbose: boolean }): number {
  output.closeLive(); // so the error appears below the last frame
  if (error instanceof Stopped) {
    if (!output.hasSummary) output.summary(interrupted);
    output.log.warn(`Stopped: ${interrupted.reason}`);
    return error.exitCode;
  }
  const known = error instanceof UserError ? error : undefined;
  const name = error instanceof Error ? error.name : "Error";
  const text = error instanceof Error ? error.message : String(error);
  const message = known === undefined
    ? `Unexpected ${name}: ${printable(text)}`
    : text.split("\n").map(printable).join("\n");
  const next = known === undefined
    ? verbose ? undefined : "Run it again with --verbose for the stack, and report it"
    : known.next;
  output.explain({ label: "error", text: message });
  if (next !== undefined) output.explain({ label: "next", text: next.split("\n").map(printable).join("\n") });
  if (known === undefined && verbose && error instanceof Error) {
    output.explain({ label: null, text: error.stack ?? "(no stack)" });
  }
  output.event({ type: "error", message, ...(next === undefined ? {} : { next }) });
  return known?.exitCode ?? exitFailed;
}
