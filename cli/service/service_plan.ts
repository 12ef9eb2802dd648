/**
 * What a service is to be: which role, started how, where it writes, under which name.
 *
 * Owns: the way from the words behind `--` to a plan. Refuses: commands that end by themselves, and words that the role itself would
 * refuse, since nobody watches when a service starts. The plan is data; unit_text.ts and plist_text.ts write it down.
 */

import { resolve } from "node:path";
import { parseOptions } from "../args.ts";
import { type Command, type CommandContext, commonOptions } from "../command.ts";
import { UsageError } from "../errors.ts";
import { dataFolder } from "../paths.ts";
import { launchCommand, unpackFolder } from "../self.ts";

export interface ServicePlan {
  readonly role: string; // "miner"
  readonly name: string; // of the unit, without its end: "iota-miner"
  readonly label: string; // launchd's: "iota.miner"
  readonly program: readonly string[]; // the whole command line
  readonly workingFolder: string;
  readonly writes: readonly string[]; // folders it writes to
  readonly logFile: string | null; // where the role keeps its own log
}

const roles: Readonly<Record<string, () => Promise<Command>>> = {
  miner: async () => (await import("../commands/miner.ts")).command,
  validate: async () => (await import("../commands/validate.ts")).command,
  orchestrate: async () => (await import("../commands/orchestrate.ts")).command,
};

const example = "For example: iota service install -- miner --orchestrator wss://run.example --wallet hot";

export async function planService(context: CommandContext): Promise<ServicePlan> {
  const [role, ...words] = context.positionals;
  if (role === undefined || !Object.hasOwn(roles, role)) {
    const value = role === undefined ? "it is missing" : `current value is '${role}'`;
    const known = Object.keys(roles).join(", ");
    throw new UsageError(`Cannot make a service as its command must be one of ${known}: ${value}`, { next: example });
  }
  const command = await roles[role]!();
  const { options } = parseOptions({
    words,
    options: [...command.options, ...commonOptions],
    maxPositionals: 0,
    helpCommand: `iota help ${role}`,
  });
  const { environment } = context;
  const data = resolve(dataFolder(environment, options.text("data")));
  const name = serviceName(context.options.text("name") ?? role);
  const isDarwin = environment.system === "darwin";
  const ownLog = options.text("log-file");
  const logFile = ownLog === undefined ? isDarwin ? `${data}/logs/${name}.log` : null : resolve(ownLog);
  const launch = launchCommand(environment);
  const unpacks = unpackFolder(environment);
  const isNode = command.options.some((option) => option.name === "auto-restart");
  return {
    role,
    name,
    label: name.replace("-", "."),
    program: [
      ...[launch.command, ...launch.args, role, ...words],
      ...(isNode && !options.flag("auto-restart") ? ["--auto-restart"] : []),
      ...(isDarwin && ownLog === undefined ? ["--log-file", logFile!] : []),
    ],
    workingFolder: resolve("."),
    writes: [data, ...(ownLog === undefined ? [] : [resolve(ownLog, "..")]), ...(unpacks === null ? [] : [unpacks])],
    logFile,
  };
}

/** `--name` of the other actions, or of the role where it was given alone. */
export function serviceName(text: string): string {
  if (/^[a-z0-9][a-z0-9-]{0,60}$/.test(text)) return text.startsWith("iota-") ? text : `iota-${text}`;
  throw new UsageError(
    `Cannot use --name as it must be of small letters, digits and dashes: current value is '${text}'`,
    {
      next: "For example: --name second-miner",
    },
  );
}
