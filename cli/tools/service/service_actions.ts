/**
 * `iota service`: writes a service's file and calls the service manager, or without one (a container, a machine booted
 * without it) prints the commands to type.
 */

import { dirname } from "node:path";
import type { CommandContext } from "../../terminal/command.ts";
import { UsageError, UserError } from "../../program/errors.ts";
import { readIfPresent, realDisk, writeAtomically } from "../../files/disk.ts";
import type { Output } from "../../terminal/output/output.ts";
import { type Environment, homeFolder } from "../../program/paths.ts";
import { launchd } from "./launchd.ts";
import type { CommandLine, ServiceManager } from "./service_manager.ts";
import { planService, serviceName, serviceRoles } from "./service_plan.ts";
import { systemd } from "./systemd.ts";

export interface Ran {
  readonly code: number;
  readonly text: string; // stdout and stderr
}

export interface Machine {
  run(line: CommandLine): Promise<Ran | null>;
  show(line: CommandLine): Promise<number>;
  read(path: string): Promise<string | null>;
  write(path: string, text: string): Promise<void>;
  createFolder(path: string): Promise<void>;
  remove(path: string): Promise<void>;
}

export const realMachine: Machine = {
  async run([program, ...args]) {
    try {
      const { code, stdout, stderr } = await new Deno.Command(program!, { args, stdin: "null" }).output();
      const decoder = new TextDecoder();
      return { code, text: `${decoder.decode(stdout)}${decoder.decode(stderr)}` };
    } catch (error) {
      if (error instanceof Deno.errors.NotFound || isUnknownProgram(error)) return null;
      throw error;
    }
  },
  async show([program, ...args]) {
    return (await new Deno.Command(program!, { args, stdout: "inherit", stderr: "inherit" }).spawn().status).code;
  },
  async read(path) {
    const bytes = await readIfPresent(path);
    return bytes === null ? null : new TextDecoder().decode(bytes);
  },
  createFolder: realDisk.createFolder,
  async write(path, text) {
    await realDisk.createFolder(dirname(path));
    await writeAtomically(path, { disk: realDisk, chunks: [new TextEncoder().encode(text)] });
  },
  remove: realDisk.remove,
};

/** Rights by name need a program on the PATH when rights are dropped. */
const isUnknownProgram = (error: unknown): boolean => error instanceof Deno.errors.NotCapable;

function serviceManager(environment: Environment): ServiceManager {
  const home = homeFolder(environment);
  if (environment.system === "linux") return systemd(environment.get("XDG_CONFIG_HOME") ?? `${home}/.config`);
  if (environment.system === "darwin") return launchd(home);
  throw new UserError("Services need Linux or macOS", {
    next: "Use the Task Scheduler: a task at log-on that starts iota and restarts it when it ends",
  });
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
  await machine.write(path, text);
  output.line(`wrote ${path}:\n\n${text}`);
  const started = await tell(manager, { machine, lines: manager.install(plan.name), output });
  if (manager.hint !== null) output.line(manager.hint);
  output.line(`Afterwards: iota service status --name ${plan.name}, iota service logs --name ${plan.name}`);
  output.summary({ service: plan.name, path, started });
  return 0;
}

export async function removeService(context: CommandContext, machine: Machine): Promise<number> {
  const { output } = context;
  const { manager, name, path } = await installed(context, machine);
  await tell(manager, { machine, lines: manager.remove(name), output });
  await machine.remove(path);
  output.line(`removed ${path}; data, logs and wallets stay`);
  output.summary({ service: name, removed: path });
  return 0;
}

export async function showService(context: CommandContext, machine: Machine): Promise<number> {
  const { output } = context;
  const { manager, name, path } = await installed(context, machine);
  const ran = await runs(manager, machine) ? await machine.run(manager.status(name)) : null;
  if (ran === null) output.log.warn(`${absence(manager)} The service is written to ${path}; it was not started`);
  else output.line(ran.text.trimEnd());
  const isRunning = ran?.code === 0;
  output.summary({ service: name, path, isRunning });
  return isRunning ? 0 : 1;
}

export async function showServiceLogs(context: CommandContext, machine: Machine): Promise<number> {
  const { options } = context;
  const { manager, name, text } = await installed(context, machine);
  if (!await runs(manager, machine)) {
    throw new UserError(`${absence(manager)} It would keep the log`, { next: "See --log-file of the role" });
  }
  return await machine.show(
    manager.logs(name, { lines: options.number("lines") ?? 50, follow: options.flag("follow"), text }),
  );
}

async function installed({ options, environment }: CommandContext, machine: Machine) {
  const manager = serviceManager(environment);
  const given = options.text("name");
  const names = given === undefined ? serviceRoles : [given];
  const all = await Promise.all(
    names.map(serviceName).map(async (name) => {
      const path = manager.fileOf(name);
      const text = await machine.read(path);
      return text === null ? [] : [{ manager, name, path, text }];
    }),
  );
  const [first, ...others] = all.flat();
  if (first !== undefined && others.length === 0) return first;
  if (first !== undefined) {
    throw new UsageError(`Several services are installed: ${all.flat().map(({ name }) => name).join(", ")}`, {
      next: `Name one: --name ${first.name}`,
    });
  }
  const role = given ?? "miner";
  throw new UserError(`There is no service ${serviceName(role)} (no ${manager.fileOf(serviceName(role))})`, {
    next: `Install it: iota service install -- ${role}, with that command's options; or name another one with --name`,
  });
}

/** False: the manager did not run everything, and the commands to type are printed. */
async function tell(
  manager: ServiceManager,
  { machine, lines, output }: { machine: Machine; lines: readonly CommandLine[]; output: Output },
): Promise<boolean> {
  if (!await runs(manager, machine)) {
    output.log.warn(`${absence(manager)} Where it does, type:`);
    for (const line of typed(lines)) output.line(`  ${line}`);
    return false;
  }
  for (const line of lines) {
    const ran = await machine.run(line);
    const mayFail = line.includes("unload"); // the agent may not be loaded
    if (ran === null || (ran.code !== 0 && !mayFail)) {
      throw new UserError(
        `'${line.join(" ")}' failed: ${ran?.text.trim() ?? "there is no such program"}`,
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
