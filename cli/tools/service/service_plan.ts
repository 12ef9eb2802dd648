/**
 * Turns the words after `--` into a planned service.
 *
 * No one watches a service start, so this rejects commands that end by themselves, and options that the role would
 * reject.
 */

import { resolve } from "node:path";
import { present } from "../../../core/assert.ts";
import { readOptions } from "../../files/given_options.ts";
import type { Command, CommandContext } from "../../terminal/command.ts";
import { UsageError } from "../../program/errors.ts";
import { namedFolder } from "../../files/run_folder.ts";
import { proxiesOfChildren } from "../../program/outbound.ts";
import { dataFolder, homeFolder } from "../../program/paths.ts";
import { launchCommand, unpackFolder } from "../../program/self.ts";

export const serviceRoles: readonly string[] = ["miner", "validate", "orchestrate"];

export interface ServicePlan {
  readonly role: string; // "miner"
  readonly name: string; // "iota-miner"
  /** A node that ended normally stopped for a new version, or waits for the next run; an orchestrator's run is over. */
  readonly isNode: boolean;
  readonly program: readonly string[]; // the command line; paths as typed
  readonly workingFolder: string;
  readonly writes: readonly string[];
  readonly variables: Readonly<Record<string, string>>;
}

export async function planService(context: CommandContext): Promise<ServicePlan> {
  const { environment } = context;
  mustComeBehind(context);
  const [role, ...words] = context.positionals;
  const command = await roleCommand(role, context);
  const { options, typed } = await readOptions(command, { words, environment });
  const data = resolve(dataFolder(environment, options.text("data")));
  const roleContext: CommandContext = { ...context, options, positionals: [], dataFolder: () => data };
  await mustStart(roleContext, command);
  if (command.configures !== "run" || options.given("wallet")) await warnWithoutKey(roleContext);
  const name = serviceName(context.options.text("name") ?? command.name);
  const isDarwin = environment.system === "darwin"; // launchd keeps no log
  const log = options.text("log-file") ?? (isDarwin ? `${data}/logs/${name}.log` : undefined);
  const logFolder = log === undefined ? data : resolve(log, "..");
  for (const folder of [data, logFolder]) mustLeaveHome(folder, resolve(homeFolder(environment)));
  const dataHome = isDarwin ? undefined : environment.get("XDG_DATA_HOME");
  const launch = launchCommand(environment);
  const unpacks = unpackFolder(environment);
  const isNode = command.options.some((option) => option.name === "auto-restart");
  return {
    ...{ role: command.name, name, isNode, workingFolder: resolve(".") },
    program: [
      ...[launch.command, ...launch.args, command.name, ...words],
      ...(isNode && !options.flag("auto-restart") ? ["--auto-restart"] : []),
      ...(log !== undefined && !typed.given("log-file") ? ["--log-file", resolve(log)] : []), // for `service logs`
    ],
    writes: [...new Set([data, logFolder, ...(unpacks === null ? [] : [unpacks])])],
    variables: {
      ...launch.env,
      ...(dataHome === undefined ? {} : { XDG_DATA_HOME: dataHome }),
      ...proxiesOfChildren(),
    },
  };
}

/** `service install` would take it itself, and the service would start without it. */
function mustComeBehind({ options }: CommandContext): void {
  if (!options.given("data")) return;
  throw new UsageError("--data must come after the service's role", {
    next: "Type it behind the role: iota service install -- ROLE --data DIR",
  });
}

async function roleCommand(role: string | undefined, { commands }: CommandContext): Promise<Command> {
  if (role !== undefined && serviceRoles.includes(role)) return await present(commands[role], "a role is a command")();
  const value = role === undefined ? "none is given" : `it is '${role}'`;
  throw new UsageError(
    `A service's command must be one of ${serviceRoles.join(", ")}; ${value}`,
    { next: "For example: iota service install -- miner --orchestrator wss://run.example --wallet hot" },
  );
}

/** Rejects what the role would refuse at every start, or only from the second. Wallet and device may still be added. */
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
      "A service with --fresh would put its run aside and begin another at every start",
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

/** A service may write to whole folders: its data, and its log's. */
function mustLeaveHome(folder: string, home: string): void {
  if (home !== folder && !home.startsWith(folder === "/" ? "/" : `${folder}/`)) return;
  throw new UsageError(
    `The service may write to every file of '${folder}', where its data or log is, and that includes your home '${home}'`,
    { next: `Give it folders of its own, for example: --data ${home}/iota --log-file ${home}/logs/iota.log` },
  );
}

/** The wallet may still be created, but until then every start fails. */
async function warnWithoutKey(context: CommandContext): Promise<void> {
  const { findHotkey, missingHotkey } = await import("../../terminal/options/wallet_options.ts");
  const missing = await missingHotkey(await findHotkey(context, context.options.text("wallet") ?? "default"));
  if (missing !== null) context.output.log.warn(`The service cannot start yet: ${missing.message}. ${missing.next}`);
}

/** `iota-miner` for the role or the --name `miner`. */
export function serviceName(text: string): string {
  if (/^[a-z0-9][a-z0-9-]{0,60}$/.test(text)) return text.startsWith("iota-") ? text : `iota-${text}`;
  throw new UsageError(
    `--name must consist of lower-case letters, digits and dashes, and is '${text}'`,
    { next: "For example: --name second-miner" },
  );
}
