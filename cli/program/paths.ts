/**
 * Where files are on a user's disk: iota's own data, Bittensor's wallets. A relative XDG_DATA_HOME is ignored, as the
 * XDG rules require.
 */

import { UserError } from "./errors.ts";

export type System = "linux" | "darwin" | "windows";

export interface Environment {
  readonly system: System;
  get(name: string): string | undefined;
}

export function dataFolder(environment: Environment, explicit?: string): string {
  if (explicit !== undefined) return explicit;
  if (environment.system === "darwin") return `${homeFolder(environment)}/Library/Application Support/iota`;
  if (environment.system === "windows") {
    return `${environment.get("LOCALAPPDATA") ?? `${homeFolder(environment)}/AppData/Local`}/iota`;
  }
  const dataHome = environment.get("XDG_DATA_HOME");
  return dataHome?.startsWith("/") ? `${dataHome}/iota` : `${homeFolder(environment)}/.local/share/iota`;
}

/**
 * `explicit`: --wallet-path; `data`: --data when it was given. The first folder that holds the wallet is used; new
 * wallets go into the first folder.
 */
export function walletFolders(
  environment: Environment,
  given: { explicit?: string | undefined; data?: string | undefined } = {},
): string[] {
  if (given.explicit !== undefined) return [given.explicit];
  const own = given.data === undefined ? [] : [`${given.data}/wallets`];
  const homeless = own.length > 0 && !hasHome(environment); // a service without HOME still has --data
  return homeless ? own : [...own, `${homeFolder(environment)}/.bittensor/wallets`];
}

export function homeFolder(environment: Environment): string {
  const name = homeVariable(environment);
  const folder = environment.get(name);
  if (folder) return folder;
  throw new UserError(`Cannot find your home folder: ${name} is not set`, {
    next: "Pass the folders: --data DIR, and --wallet-path DIR if a wallet is used",
  });
}

export const tuningName = "tuning.json";

/** Whatever --data says; null: there is no home. */
export const tuningFolder = (environment: Environment): string | null =>
  hasHome(environment) ? dataFolder(environment) : null;

const hasHome = (environment: Environment): boolean => Boolean(environment.get(homeVariable(environment)));

function homeVariable(environment: Environment): string {
  return environment.system === "windows" ? "USERPROFILE" : "HOME";
}

/** Where a dataset is prepared unless a folder is given. */
export const datasetPlace = (environment: Environment, name: string): string =>
  `${dataFolder(environment)}/datasets/${name}`;

/** A name without a slash is that of a dataset in the user's data folder. */
export const datasetNamed = (environment: Environment, text: string): string =>
  /[/\\]/.test(text) ? expandHome(text, environment) : datasetPlace(environment, text);

/** Where no shell has replaced `~`, as in a file or within quotes. `~name/x` stays as it is. */
export function expandHome(path: string, environment: Environment): string {
  return path === "~" || path.startsWith("~/") ? `${homeFolder(environment)}${path.slice(1)}` : path;
}
