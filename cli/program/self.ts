/**
 * Where this program is, and how it starts itself again in another role.
 *
 * It may run as a checkout, a bundle, the packed file (a bundle and its Deno, unpacked into a cache folder) or a
 * compiled binary. A role starts the unpacked content again, so that it has the same version as its parent.
 */

import { fileURLToPath } from "node:url";
import type { Environment } from "./paths.ts";

const isCheckout = import.meta.url.endsWith(".ts"); // the parts of a bundle are JavaScript, side by side

const pathTo = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));

/** Null in a product. */
export function checkoutFolder(): string | null {
  return isCheckout ? pathTo("../../") : null;
}

interface SelfCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>; // besides those that it inherits
}

/**
 * A confined thread must be able to read these to start workers, because Deno reads a worker's code with the rights of
 * the thread that starts it.
 */
export function ownProgram(environment: Environment): { programFolders: string[]; executable: string } {
  const folder = pathTo(isCheckout ? "../../" : "./");
  const own = isCheckout ? ["cli", "core", "gpu", "net", "chain"].map((name) => `${folder}${name}`) : [folder];
  const file = programFile(environment);
  const files = file === null ? [] : [file];
  return { programFolders: [...own, `${denoFolder(environment)}/npm`, ...files], executable: Deno.execPath() };
}

/** The one file that an upgrade replaces; null in a checkout. A packed file says where it is in IOTA_PROGRAM. */
export function programFile({ get }: Environment): string | null {
  const packed = get("IOTA_PROGRAM");
  if (packed) return packed;
  if (Deno.build.standalone) return Deno.execPath();
  return isCheckout ? null : pathTo("./main.js");
}

export function unpackFolder({ get }: Environment): string | null {
  return get("IOTA_PROGRAM") && !isCheckout ? pathTo("../..").replace(/\/$/, "") : null;
}

/** In a checkout, the launcher that `make setup` writes. */
export function launchCommand(environment: Environment): SelfCommand {
  const packed = environment.get("IOTA_PROGRAM");
  if (packed) return { command: packed, args: [], env: {} };
  const launcher = pathTo("../../iota");
  return isCheckout && isThere(launcher) ? { command: launcher, args: [], env: {} } : selfCommand(environment);
}

/** The launcher of a checkout says how it was called. */
export const calledAs = ({ get }: Environment): string => get("IOTA_CALLED_AS") || "iota";

function isThere(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/** The cache of packages that Deno fetched; one of them is a training text. */
function denoFolder({ system, get }: Environment): string {
  const home = get("HOME") ?? "";
  const cache = system === "darwin" ? `${home}/Library/Caches` : get("XDG_CACHE_HOME") ?? `${home}/.cache`;
  return get("DENO_DIR") ?? `${cache}/deno`;
}

const rights = [
  "--allow-read",
  "--allow-write",
  "--allow-net",
  "--allow-env",
  "--allow-sys",
  "--allow-run",
  "--deny-ffi",
];

/**
 * A bundle reads no configuration and fetches nothing. These flags replace the unstable features that `deno.json` sets
 * in a checkout; `.ci/packed_header` has the same.
 */
const bundleFlags = [
  "--no-config",
  "--no-lock",
  "--no-remote",
  "--no-npm",
  "--cached-only",
  "--unstable-worker-options",
];

/** `environment`: of a process that this one does not start itself. */
export function selfCommand(environment?: Environment): SelfCommand {
  const command = Deno.execPath();
  if (Deno.build.standalone) return { command, args: [], env: {} };
  const env = hiddenHome(pathTo(isCheckout ? "../../.ci" : "."), environment?.get("HOME"));
  const [flags, entry] = isCheckout
    ? [["--config", pathTo("../../deno.json")], pathTo("../main.ts")]
    : [bundleFlags, pathTo("./main.js")]; // not Deno.mainModule: in a confined thread that is the thread's own file
  return { command, args: ["run", "--quiet", "--no-prompt", ...flags, ...rights, entry], env };
}

const variable = "IOTA_HOME";

/** Leaves IOTA_HOME set for the processes that this one starts of itself. */
export function restoreHome(env: Pick<Deno.Env, "get" | "set" | "delete"> = Deno.env): void {
  const home = env.get(variable);
  if (home === undefined) env.set(variable, env.get("HOME") ?? "");
  else if (home === "") env.delete("HOME");
  else env.set("HOME", home);
}

/** `folder` holds no .npmrc. */
export function hiddenHome(folder: string, home?: string): Record<string, string> {
  return { HOME: folder, ...(home === undefined ? {} : { [variable]: home }) };
}
