/**
 * The service manager of this machine: systemd's user instance on Linux, launchd on a Mac.
 *
 * Owns: where a service's file is, and the command lines that start, stop and show it, as data, so that they can be
 * printed where they cannot be run. Out of scope: system-wide services, which need root.
 */

import type { Environment } from "../../program/paths.ts";
import { UserError } from "../../program/errors.ts";
import { plistText } from "./plist_text.ts";
import type { ServicePlan } from "./service_plan.ts";
import { unitText } from "./unit_text.ts";

/** A program and its words. */
export type CommandLine = readonly string[];

export interface ServiceManager {
  readonly program: string; // that must exist
  /** Succeeds if the manager runs for this user; containers may have the program but no running manager. */
  readonly probe: CommandLine;
  fileOf(name: string): string;
  textOf(plan: ServicePlan, options: { hasNamespaces: boolean }): string;
  install(name: string): readonly CommandLine[];
  remove(name: string): readonly CommandLine[];
  status(name: string): CommandLine;
  /** Null: the log is the role's own file. */
  logs(name: string, options: { lines: number; follow: boolean }): CommandLine | null;
  /** What a person must do once so that it runs while no one is signed in. */
  hint(user: string): string | null;
}

export function serviceManager(environment: Environment): ServiceManager {
  if (environment.system === "linux") return systemd(environment);
  if (environment.system === "darwin") return launchd(environment);
  throw new UserError("Cannot install a service as the system must be Linux or macOS: it is Windows", {
    next: "Use the Task Scheduler: a task at log-on that starts iota and restarts it when it ends",
  });
}

function systemd(environment: Environment): ServiceManager {
  const config = environment.get("XDG_CONFIG_HOME") ?? `${homeOf(environment)}/.config`;
  const control = (...words: string[]): CommandLine => ["systemctl", "--user", ...words];
  const unit = (name: string) => `${name}.service`;
  return {
    program: "systemctl",
    probe: control("show-environment"),
    fileOf: (name) => `${config}/systemd/user/${unit(name)}`,
    textOf: unitText,
    install: (name) => [control("daemon-reload"), control("enable", unit(name)), control("restart", unit(name))],
    remove: (name) => [control("disable", "--now", unit(name))],
    status: (name) => control("status", "--no-pager", "--lines=5", unit(name)),
    logs: (name, { lines, follow }) => [
      ...["journalctl", "--user", "--no-pager", `--unit=${unit(name)}`, `--lines=${lines}`],
      ...(follow ? ["--follow"] : []),
    ],
    hint: (user) => `To let it run while you are signed out, type once: loginctl enable-linger ${user}`,
  };
}

function launchd(environment: Environment): ServiceManager {
  const label = (name: string) => name.replace("-", ".");
  const fileOf = (name: string) => `${homeOf(environment)}/Library/LaunchAgents/${label(name)}.plist`;
  return {
    program: "launchctl",
    probe: ["launchctl", "list"],
    fileOf,
    textOf: (plan) => plistText(plan),
    install: (name) => [["launchctl", "unload", fileOf(name)], ["launchctl", "load", "-w", fileOf(name)]],
    remove: (name) => [["launchctl", "unload", "-w", fileOf(name)]],
    status: (name) => ["launchctl", "list", label(name)],
    logs: () => null,
    hint: () => null,
  };
}

function homeOf(environment: Environment): string {
  const home = environment.get("HOME");
  if (home) return home;
  throw new UserError("Cannot find your home folder as HOME must be set: it is empty", {
    next: "Set HOME, because services are stored in it",
  });
}
