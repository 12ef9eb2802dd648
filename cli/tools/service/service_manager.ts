/** What systemd.ts or launchd.ts does for a role. System-wide services, which need root, are out of scope. */

import type { ServicePlan } from "./service_plan.ts";

/** Data, so that it can be printed where it cannot be run. */
export type CommandLine = readonly string[];

export interface ServiceManager {
  readonly program: string;
  /** Succeeds if the manager runs for this user; a container may have only the program. */
  readonly probe: CommandLine;
  fileOf(name: string): string;
  textOf(plan: ServicePlan, options: { hasNamespaces: boolean }): string;
  install(name: string): readonly CommandLine[];
  remove(name: string): readonly CommandLine[];
  status(name: string): CommandLine;
  logs(name: string, options: { lines: number; follow: boolean; text: string }): CommandLine;
  /** What a person must do once so that it runs while no one is signed in. */
  readonly hint: string | null;
}
