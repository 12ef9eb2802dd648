/**
 * What a command may touch, as data.
 *
 * Owns: the words in which a command states its rights, and the exact things that they come to. Refuses: looking at a command line
 * (resolve_rights.ts) and touching the process (confinement.ts gives rights up). A command that states nothing may do nothing but print. No command may load native libraries
 * or fetch code, whatever it states.
 */

/**
 * A place on the disk by what it is: the data folder, the hotkeys of the wallet that signs, the program itself, the text that the
 * run learns (wherever that was set), the path that an option names, or the log and its full files.
 */
export type Place = "data" | "hotkeys" | "program" | "corpus" | "log" | `--${string}`;

export type SystemFact = "cpus" | "loadavg" | "hostname" | "networkInterfaces" | "systemMemoryInfo";

export interface Rights {
  readonly read?: readonly Place[] | "any";
  readonly write?: readonly Place[] | "any";
  /** Deno does not tell dialling from listening: who may do one there may do the other. */
  readonly net?: "loopback" | "any";
  /** Programs by name; "self" is this one, for the roles of a swarm. */
  readonly run?: readonly string[] | "any";
  /** Variables beside those that packages ask for. Those in `handedOver` are read before rights are given up. */
  readonly env?: readonly string[] | "any";
  readonly sys?: readonly SystemFact[] | "any";
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

/**
 * Whether giving up whole kinds of rights is enough. Deno can take back all reading, but of a right for everything no part:
 * revoking `/etc` from a process that may read everything leaves it as it was (tests/e2e/rights_test.ts).
 */
export function isWhole({ read, write, net, run, env, sys }: HeldRights): boolean {
  return [read, write, net, run, env, sys].every((scope) => scope === "any" || scope.length === 0);
}
