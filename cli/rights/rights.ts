/**
 * A command's rights as data.
 *
 * Owns: the terms in which a command declares its rights, and the resolved lists. Out of scope: reading a command line
 * (resolve_rights.ts) and changing the process (confinement.ts). A command that declares nothing may only print. No
 * command may load native libraries or fetch code, whatever it declares.
 */

import { lockVariable } from "../program/lock_token.ts";
import { proxyNames } from "../program/proxy_variables.ts";

/**
 * A place on disk by purpose: the data folder, the signing wallet's hotkeys, the program itself, the training text
 * (wherever it was set), what was tuned on this machine, the folders of this machine's runs where --own asks for them, the path that an
 * option names, or the log and its rotated files.
 */
export type Place = "data" | "hotkeys" | "program" | "corpus" | "tuning" | "runs" | "log" | `--${string}`;

export type SystemFact = "cpus" | "loadavg" | "hostname" | "networkInterfaces" | "systemMemoryInfo";

export interface Rights {
  readonly read?: readonly Place[] | "any";
  readonly write?: readonly Place[] | "any";
  /** Deno does not distinguish dialling from listening: a right to one is a right to the other. */
  readonly net?: "loopback" | "any";
  /** Programs by name; "self" is this one, for the roles of a swarm. */
  readonly run?: readonly string[] | "any";
  /** Variables besides those that packages read. Those in `handedOver` are read before rights are given up. */
  readonly env?: readonly string[] | "any";
  readonly sys?: readonly SystemFact[] | "any";
  /** Options, any of which starts the process that reads the machine's sensors. */
  readonly sensorsFor?: readonly string[];
}

/** Each field is an exact list, all, or nothing. */
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

/** Variables that packages read while loading; denying them would stop the packages. None of these names holds a secret. */
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

/** Variables that this program itself needs: read once, then passed to the confined command as values. */
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
  "IOTA_CALLED_AS",
  "CI",
  lockVariable,
  ...proxyNames,
];

/**
 * Whether giving up whole kinds of rights is enough. Deno can revoke all reading, but no part of an unrestricted right:
 * revoking `/etc` from a process that may read everything has no effect (tests/e2e/rights_test.ts).
 */
export function isWhole({ read, write, net, run, env, sys }: HeldRights): boolean {
  return [read, write, net, run, env, sys].every((scope) => scope === "any" || scope.length === 0);
}

/**
 * The rights in an environment whose variables have these names. A program that inherits variables of the dynamic loader (such as
 * LD_LIBRARY_PATH, which NVIDIA's containers set so that the driver is found) is started by Deno only where any program may be:
 * a command that may start some may then start any.
 */
export function heldWith(names: readonly string[], held: HeldRights): HeldRights {
  const startsPrograms = held.run === "any" || held.run.length > 0;
  const isForLoader = (name: string) => /^(LD|DYLD)_/.test(name);
  return startsPrograms && names.some(isForLoader) ? { ...held, run: "any" } : held;
}
