/**
 * `iota service`: writes a service's file and calls the machine's service manager, or prints the commands to type if
 * there is none (a container, a machine booted without one).
 *
 * Owns: the actions and all messages about them. The machine is injected, so tests use one that only records.
 */

import type { CommandContext } from "../../terminal/command.ts";
import { attempting, UsageError, UserError } from "../../program/errors.ts";
import { type CommandLine, type ServiceManager, serviceManager } from "./service_manager.ts";
import { planService, serviceName } from "./service_plan.ts";
import { roleNames } from "./service_roles.ts";

export interface Ran {
  readonly code: number;
  readonly text: string; // stdout and stderr
}

export interface Machine {
  /** Null: there is no such program. */
  run(line: CommandLine): Promise<Ran | null>;
  /** Its output goes straight to the terminal. */
  show(line: CommandLine): Promise<number>;
  read(path: string): Promise<string | null>;
  write(path: string, text: string): Promise<void>;
  createFolder(path: string): Promise<void>;
  remove(path: string): Promise<boolean>;
}

export async function installService(context: CommandContext, machine: Machine): Promise<number> {
  const { options, output, environment } = context;
  const manager = serviceManager(environment);
  const plan = await planService(context);
  const path = manager.fileOf(plan.name);
  const text = manager.textOf(plan, { hasNamespaces: await hasNamespaces(machine) });
  if (options.flag("dry-run")) {
    output.answer({ path, text, commands: typed(manager.install(plan.name)) }, `# ${path}\n${text}`);
    return 0;
  }
  for (const folder of plan.writes) await machine.createFolder(folder); // the sandbox opens only existing folders
  await attempting({ action: "write the service", value: path }, () => machine.write(path, text));
  output.line(`wrote ${path}:\n\n${text}`);
  const started = await tell(manager, { machine, lines: manager.install(plan.name), context });
  const user = environment.get("USER") ?? "$USER";
  const hint = manager.hint(user);
  if (hint !== null) output.line(hint);
  output.line(`Afterwards: iota service status --name ${plan.name}, iota service logs --name ${plan.name}`);
  output.summary({ service: plan.name, path, started });
  return 0;
}

export async function removeService(context: CommandContext, machine: Machine): Promise<number> {
  const { output, environment } = context;
  const manager = serviceManager(environment);
  const { name, path } = await existing(context, { machine, manager });
  if (!context.options.given("name") && name !== serviceName(usualRole)) {
    throw new UsageError(`Cannot remove ${name} as a service other than a miner must be named`, {
      next: `Remove it: iota service remove --name ${name}`,
    });
  }
  await tell(manager, { machine, lines: manager.remove(name), context });
  await attempting({ action: "remove the service", value: path }, () => machine.remove(path));
  output.line(`removed ${path}; data, logs and wallets stay`);
  output.summary({ service: name, removed: path });
  return 0;
}

export async function showService(context: CommandContext, machine: Machine): Promise<number> {
  const manager = serviceManager(context.environment);
  const { name, path } = await existing(context, { machine, manager });
  const line = manager.status(name);
  const ran = await runs(manager, machine) ? await machine.run(line) : null;
  if (ran === null) {
    context.output.log.warn(`${absence(manager)} The service is written to ${path}; it was not started`);
    context.output.summary({ service: name, path, isRunning: false });
    return 1;
  }
  context.output.line(ran.text.trimEnd());
  context.output.summary({ service: name, path, isRunning: ran.code === 0 });
  return ran.code === 0 ? 0 : 1;
}

export async function showServiceLogs(context: CommandContext, machine: Machine): Promise<number> {
  const { options, environment, output } = context;
  const manager = serviceManager(environment);
  const { name, text } = await existing(context, { machine, manager });
  const lines = options.number("lines") ?? 50;
  const line = manager.logs(name, { lines, follow: options.flag("follow") });
  const path = ownLog(text);
  if (line !== null && (await runs(manager, machine))) return await machine.show(line);
  if (path === null) {
    throw new UserError(`Cannot show the log as a service manager or a file must keep it: ${absence(manager)}`, {
      next:
        "Install the service again with its own log: repeat its iota service install command with --log-file PATH at the end",
    });
  }
  const log = await machine.read(path);
  if (log === null) {
    throw new UserError(`Cannot show the log as its file must exist: there is none at ${path}`, {
      next: `See whether it runs: iota service status --name ${name}`,
    });
  }
  output.line(log.trimEnd().split("\n").slice(-lines).join("\n"));
  return 0;
}

const usualRole = "miner";

interface Existing {
  readonly name: string;
  readonly path: string;
  readonly text: string;
}

async function existing(
  { options }: CommandContext,
  { machine, manager }: { machine: Machine; manager: ServiceManager },
): Promise<Existing> {
  const given = options.text("name");
  const installed: Existing[] = [];
  for (const each of given === undefined ? roleNames : [given]) {
    const name = serviceName(each);
    const path = manager.fileOf(name);
    const text = await machine.read(path);
    if (text !== null) installed.push({ name, path, text });
  }
  const [first, ...others] = installed;
  if (first !== undefined && others.length === 0) return first;
  if (first !== undefined) {
    throw new UsageError(
      `Cannot choose a service as several are installed: ${installed.map(({ name }) => name).join(", ")}`,
      { next: `Name one: --name ${first.name}` },
    );
  }
  const name = serviceName(given ?? usualRole);
  const path = manager.fileOf(name);
  throw new UserError(`Cannot find the service ${name} as its file must exist: there is none at ${path}`, {
    next: `Install it: iota service install -- ${
      given ?? usualRole
    }, with that command's options; or name another one with --name`,
  });
}

/** Whether the manager was available and ran everything; otherwise prints the commands to type. */
async function tell(
  manager: ServiceManager,
  { machine, lines, context }: { machine: Machine; lines: readonly CommandLine[]; context: CommandContext },
): Promise<boolean> {
  const { output } = context;
  if (!await runs(manager, machine)) {
    output.log.warn(`${absence(manager)} Where it does, type:`);
    for (const line of typed(lines)) output.line(`  ${line}`);
    return false;
  }
  for (const line of lines) {
    const ran = await machine.run(line);
    const mayFail = line.includes("unload"); // for an agent that was not loaded
    if (ran === null || (ran.code !== 0 && !mayFail)) {
      throw new UserError(
        `Cannot continue as '${line.join(" ")}' must succeed: ${ran?.text.trim() ?? "it is missing"}`,
        {
          next: "Fix that and run the command yourself; the service's file has been written",
        },
      );
    }
    output.line(`ran ${line.join(" ")}`);
  }
  return true;
}

const runs = async ({ probe }: ServiceManager, machine: Machine): Promise<boolean> =>
  (await machine.run(probe))?.code === 0;

const absence = ({ program }: ServiceManager): string =>
  `${program} is not available to this user here (a container?).`;

const typed = (lines: readonly CommandLine[]): string[] => lines.map((line) => line.join(" "));

/** systemd's sandbox for user services needs them; some kernels refuse them. */
async function hasNamespaces(machine: Machine): Promise<boolean> {
  return (await machine.run(["unshare", "--user", "--map-root-user", "--mount", "true"]))?.code === 0;
}

/** The value of --log-file in a service's file, agent or unit. */
function ownLog(text: string): string | null {
  const found = /<string>--log-file<\/string>\s*<string>([^<]*)</.exec(text) ??
    /--log-file[ =](?:"([^"]*)"|(\S+))/.exec(text);
  return found?.[1] ?? found?.[2] ?? null;
}
