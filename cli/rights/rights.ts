/**
 * A command's rights as data. A command that declares nothing may only print. No command may load native libraries or
 * fetch code.
 */

import { lockVariable } from "../program/lock_token.ts";
import { proxyNames } from "../program/proxy_variables.ts";

/**
 * `runs`: the folders of this machine's runs where --own asks for them; an option stands for the path that it names.
 */
export type Place = "data" | "hotkeys" | "program" | "corpus" | "tuning" | "runs" | "log" | `--${string}`;

type SystemFact = "cpus" | "loadavg" | "hostname" | "networkInterfaces" | "systemMemoryInfo";

export interface Rights {
  readonly read?: readonly Place[] | "any";
  readonly write?: readonly Place[] | "any";
  /** Deno does not distinguish dialling from listening. */
  readonly net?: "loopback" | "any";
  /** "self" is this program, for the roles of a swarm. */
  readonly run?: readonly string[] | "any";
  /** Besides those that packages read. Those in `handedOver` are read before rights are given up. */
  readonly env?: readonly string[] | "any";
  readonly sys?: readonly SystemFact[] | "any";
  /** Any of these options starts the sensor process. */
  readonly sensorsFor?: readonly string[];
}

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

/** Packages read these while loading and would stop if denied. None of these names holds a secret. */
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

/** Read once, then passed to the confined command as values. */
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

/** Deno can revoke all reading, but no part of an unrestricted right (tests/e2e/rights_test.ts). */
export function isWhole({ read, write, net, run, env, sys }: HeldRights): boolean {
  return [read, write, net, run, env, sys].every((scope) => scope === "any" || scope.length === 0);
}

/**
 * Deno starts a program that inherits variables of the dynamic loader (such as LD_LIBRARY_PATH, which NVIDIA's
 * containers set) only where any program may be started.
 */
export function heldWith(names: readonly string[], held: HeldRights): HeldRights {
  const startsPrograms = held.run === "any" || held.run.length > 0;
  const isForLoader = (name: string) => /^(LD|DYLD)_/.test(name);
  return startsPrograms && names.some(isForLoader) ? { ...held, run: "any" } : held;
}
