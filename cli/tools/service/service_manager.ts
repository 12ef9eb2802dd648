/**
 * What a machine's service manager, systemd.ts or launchd.ts, does for a role.
 *
 * Out of scope: system-wide services, which need root.
 */

import type { ServicePlan } from "./service_plan.ts";

/** A program and its words: data, so that they can be printed where they cannot be run. */
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
  /** `text`: of the service's file. */
  logs(name: string, options: { lines: number; follow: boolean; text: string }): CommandLine;
  /** What a person must do once so that it runs while no one is signed in. */
  readonly hint: string | null;
}
