/**
 * A planned service: its role, how it starts, where it writes, its name.
 *
 * Owns: turning the words after `--` into a plan. Rejects: commands that end by themselves, and options that the role itself
 * would reject, because no one watches a service start. The plan is data; unit_text.ts and plist_text.ts write it out.
 */

import { resolve } from "node:path";
import { knobAt } from "../../../core/config/knobs.ts";
import { isPathOption } from "../../terminal/options/args.ts";
import { readOptions } from "../../files/given_options.ts";
import { type Command, type CommandContext, commonOptions, type OptionSpec } from "../../terminal/command.ts";
import { UsageError } from "../../program/errors.ts";
import { namedFolder } from "../../files/run_folder.ts";
import { proxiesOfChildren } from "../../program/outbound.ts";
import { dataFolder, type Environment, expandHome, homeFolder } from "../../program/paths.ts";
import { shellWords } from "../../program/shell_words.ts";
import { launchCommand, unpackFolder } from "../../program/self.ts";
import { serviceRole } from "./service_roles.ts";

export interface ServicePlan {
  readonly role: string; // "miner"
  readonly name: string; // of the unit, without its suffix: "iota-miner"
  readonly label: string; // launchd's: "iota.miner"
  readonly program: readonly string[]; // the whole command line
  readonly workingFolder: string;
  readonly writes: readonly string[]; // folders it writes to
  readonly logFile: string | null; // where the role keeps its own log
  /** A node that ended normally stopped for a new version, or should wait for the next run; an orchestrator's run is over. */
  readonly restarts: "always" | "onFailure";
  readonly longestWaitSeconds: number; // before a restart
  readonly variables: Readonly<Record<string, string>>; // that decide where its data is, how it starts, and its proxies
}

export async function planService(context: CommandContext): Promise<ServicePlan> {
  const [role, ...words] = context.positionals;
  const command = await serviceRole(role, context.commands);
  const { options, typed } = await readOptions(command, { words, environment: context.environment });
  const { environment } = context;
  const data = resolve(dataFolder(environment, options.text("data")));
  const roleContext: CommandContext = { ...context, options, positionals: [], dataFolder: () => data };
  await mustStart(roleContext, command);
  if (command.configures !== "run" || options.given("wallet")) await warnWithoutKey(roleContext);
  const name = serviceName(context.options.text("name") ?? command.name);
  const isDarwin = environment.system === "darwin";
  const given = options.text("log-file");
  const logFile = given === undefined ? isDarwin ? `${data}/logs/${name}.log` : null : resolve(given);
  mustLeaveHome({ "data": data, ...(given === undefined ? {} : { "log-file": resolve(given, "..") }) }, environment);
  const dataHome = isDarwin ? undefined : environment.get("XDG_DATA_HOME");
  const launch = launchCommand(environment);
  const unpacks = unpackFolder(environment);
  const isNode = command.options.some((option) => option.name === "auto-restart");
  return {
    role: command.name,
    name,
    label: name.replace("-", "."),
    program: [
      ...[
        launch.command,
        ...launch.args,
        command.name,
        ...absoluteWords(words, { options: command.options, environment }),
      ],
      ...(isNode && !options.flag("auto-restart") ? ["--auto-restart"] : []),
      ...(logFile !== null && !typed.given("log-file") ? ["--log-file", logFile] : []), // the unit allows writing only there
    ],
    workingFolder: resolve("."),
    writes: [data, ...(given === undefined ? [] : [resolve(given, "..")]), ...(unpacks === null ? [] : [unpacks])],
    logFile,
    restarts: isNode ? "always" : "onFailure",
    longestWaitSeconds: isNode ? 300 : 30, // all nodes wait for an orchestrator
    variables: {
      ...launch.env,
      ...(dataHome === undefined ? {} : { XDG_DATA_HOME: dataHome }),
      ...proxiesOfChildren(),
    },
  };
}

/** Rejects what the role would refuse at every start, or only from the second. Its wallet and device may still be added. */
async function mustStart(context: CommandContext, command: Command): Promise<void> {
  if (command.configures !== "run") {
    (await import("../../terminal/options/named_chain.ts")).givenChain(context);
    const orchestrator = context.options.text("orchestrator");
    if (orchestrator !== undefined) (await import("../../roles/addresses.ts")).hubAddress(orchestrator);
    (await import("../../terminal/text/duration_text.ts")).durationOption(
      "give-up-after",
      context.options.text("give-up-after"),
    );
    if (command.name === "miner") (await import("../../node/idle/pause_options.ts")).pauseRules(context);
    return;
  }
  if (context.options.flag("fresh")) {
    throw new UsageError(
      "Cannot install a service with --fresh as every start would put the run aside and begin another",
      {
        next: "Leave it out: the service begins the run and resumes it at every later start",
      },
    );
  }
  const [{ planRun }, { mustHaveText }, { mustHaveSoundHub }, { hubPlace }] = await Promise.all([
    import("../../orchestrator/run/plan_run.ts"),
    import("../../orchestrator/run/prepare_run.ts"),
    import("../../orchestrator/run/hub_file_check.ts"),
    import("../../orchestrator/run/hub_place.ts"),
  ]);
  const plan = await planRun(context, (name) => namedFolder(context.dataFolder(), name));
  await mustHaveSoundHub(context);
  await hubPlace(context.options, plan.saved);
  await mustHaveText(plan);
}

/** The sandbox lets a service write to whole folders: its data, and where its log and the log's older parts are. */
function mustLeaveHome(folders: Readonly<Record<string, string>>, environment: Environment): void {
  const home = resolve(homeFolder(environment));
  for (const [option, folder] of Object.entries(folders)) {
    if (home !== folder && !home.startsWith(folder === "/" ? "/" : `${folder}/`)) continue;
    const inside = option === "data" ? `${home}/iota` : `${home}/logs/iota.log`;
    throw new UsageError(
      `The service may write to every file of '${folder}', the folder of --${option}, and your home '${home}' is ` +
        (home === folder ? "that folder" : "inside it"),
      { next: `Give it a folder of its own: ${shellWords([`--${option}`, inside])}` },
    );
  }
}

/** The wallet may still be made, but until then every start fails. */
async function warnWithoutKey(context: CommandContext): Promise<void> {
  const { findHotkey, missingHotkey } = await import("../../terminal/options/wallet_options.ts");
  const missing = await missingHotkey(await findHotkey(context, context.options.text("wallet") ?? "default"));
  if (missing !== null) context.output.log.warn(`The service cannot start yet: ${missing.message}. ${missing.next}`);
}

/** The same words with absolute paths, because the service manager chooses a service's working folder. */
export function absoluteWords(
  words: readonly string[],
  { options, environment }: { options: readonly OptionSpec[]; environment: Environment },
): string[] {
  const specs = new Map([...options, ...commonOptions].map((spec) => [`--${spec.name}`, spec]));
  const absolute = (spec: OptionSpec | undefined, value: string) =>
    isPath(spec, value) ? resolve(expandHome(value, environment)) : value;
  return words.map((word, i) => {
    const [, name, value] = /^(--[^=]+)=(.*)$/s.exec(word) ?? [];
    if (name !== undefined && value !== undefined) return `${name}=${absolute(specs.get(name), value)}`;
    return absolute(specs.get(words[i - 1] ?? ""), word);
  });
}

function isPath(spec: OptionSpec | undefined, value: string): boolean {
  if (spec === undefined || !isPathOption(spec)) return false;
  return spec.name !== "corpus" || value !== knobAt("data.corpus").default;
}

/** `--name` of the other actions, or the role if only that was given. */
export function serviceName(text: string): string {
  if (/^[a-z0-9][a-z0-9-]{0,60}$/.test(text)) return text.startsWith("iota-") ? text : `iota-${text}`;
  throw new UsageError(
    `Cannot use --name as it must consist of lower-case letters, digits and dashes: current value is '${text}'`,
    {
      next: "For example: --name second-miner",
    },
  );
}
