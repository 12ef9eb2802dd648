/**
 * What a command may touch, as data, and what that means for one command line.
 *
 * Owns: the words in which a command states its rights, and the way from them to paths and hosts. Refuses: touching the process
 * (confinement.ts gives rights up). A command that states nothing may do nothing but print. No command may load native libraries
 * or fetch code, whatever it states.
 */

import { resolve } from "node:path";
import type { OptionValues } from "../command.ts";
import { type Environment, walletFolders } from "../paths.ts";

/**
 * A place on the disk by what it is: the data folder, the hotkeys of the wallet that signs, the program itself, the path that
 * an option names, or the log and its full files.
 */
export type Place = "data" | "hotkeys" | "program" | "log" | `--${string}`;

export type SystemFact = "cpus" | "loadavg" | "hostname";

export interface Rights {
  readonly read?: readonly Place[] | "any";
  readonly write?: readonly Place[] | "any";
  /** Deno does not tell dialling from listening: who may do one there may do the other. */
  readonly net?: "loopback" | "any";
  /** Programs by name; "self" is this one, for the roles of a swarm. */
  readonly run?: readonly string[] | "any";
  /** Variables beside those that packages ask for. Those in `handedOver` are read before rights are given up. */
  readonly env?: readonly string[] | "any";
  readonly sys?: readonly SystemFact[];
  /** The options of which any starts the process that reads the machine's sensors. */
  readonly sensorsFor?: readonly string[];
}

/** Everything below is a list of exact things, or all, or nothing. */
export type Scope = readonly string[] | "any";

export interface HeldRights {
  readonly read: Scope;
  readonly write: Scope;
  readonly net: Scope;
  readonly run: Scope;
  readonly env: Scope;
  readonly sys: Scope;
  readonly needsSensors: boolean;
}

/** What packages ask for while they load: an answer that is refused would stop them. No secret has such a name. */
export const packageVariables: readonly string[] = [
  "CI",
  "FORCE_COLOR",
  "NO_COLOR",
  "TERM",
  "POLKADOTJS_DISABLE_ESM_CJS_WARNING",
  "DEBUG",
  "DEBUG_MAX",
  "WS_NO_BUFFER_UTIL",
  "WS_NO_UTF_8_VALIDATE",
  "NODE_ENV",
];

/** What this program itself asks for: read once, then given to the confined command as values. */
export const handedOver: readonly string[] = [
  "HOME",
  "USERPROFILE",
  "LOCALAPPDATA",
  "XDG_DATA_HOME",
  "XDG_CONFIG_HOME",
  "NO_COLOR",
  "TERM",
  "USER",
  "IOTA_PROGRAM",
];

const nothing: HeldRights = { read: [], write: [], net: [], run: [], env: [], sys: [], needsSensors: false };
const loopback = ["127.0.0.1", "localhost", "[::1]"];

export interface RightsQuestion {
  readonly rights: Rights | undefined;
  readonly options: OptionValues;
  /** Whether the command has such an option at all. */
  readonly declares: (name: string) => boolean;
  readonly environment: Environment;
  readonly dataFolder: () => string;
  readonly programFolders: readonly string[];
  readonly executable: string;
}

export function resolveRights(question: RightsQuestion): HeldRights {
  const { rights, options, declares, executable } = question;
  if (rights === undefined) return nothing;
  const { read = [], write = [], net, run = [], env = [], sys = [], sensorsFor = [] } = rights;
  const paths = (places: readonly Place[]) => [...new Set(places.flatMap((place) => pathsOf(place, question)))];
  const isGiven = (name: string) => declares(name) && options.given(name);
  return {
    read: read === "any" ? "any" : paths([...read, "program", "--config"]),
    write: write === "any" ? "any" : paths(write),
    net: net === "any" ? "any" : net === "loopback" ? loopback : [],
    run: run === "any" ? "any" : run.map((program) => program === "self" ? executable : program),
    env,
    sys,
    needsSensors: sensorsFor.some(isGiven),
  };
}

function pathsOf(place: Place, question: RightsQuestion): string[] {
  const { options, declares, environment, dataFolder, programFolders } = question;
  switch (place) {
    case "data":
      return [resolve(dataFolder())];
    case "program":
      return [...programFolders];
    case "hotkeys": {
      const { wallet, "wallet-path": explicit } = textsOf(["wallet", "wallet-path"], question);
      const folders = walletFolders(environment, { explicit, data: options.text("data") });
      return folders.map((folder) => resolve(folder, wallet ?? "default", "hotkeys"));
    }
  }
  const name = place === "log" ? "log-file" : place.slice(2);
  const path = declares(name) ? options.text(name) : undefined;
  if (path === undefined) return [];
  const full = place === "log" ? Array.from({ length: options.number("log-keep") ?? 0 }, (_, i) => `.${i + 1}`) : [];
  return ["", ...full].map((suffix) => `${resolve(path)}${suffix}`);
}

function textsOf(names: readonly string[], { options, declares }: RightsQuestion): Record<string, string | undefined> {
  return Object.fromEntries(names.map((name) => [name, declares(name) ? options.text(name) : undefined]));
}

/**
 * Whether giving up whole kinds of rights is enough. Deno can take back all reading, but of a right for everything no part:
 * revoking `/etc` from a process that may read everything leaves it as it was (tests/e2e/rights_test.ts).
 */
export function isWhole({ read, write, net, run, env, sys }: HeldRights): boolean {
  return [read, write, net, run, env, sys].every((scope) => scope === "any" || scope.length === 0);
}
