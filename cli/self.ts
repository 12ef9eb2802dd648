/**
 * Where this program lies, and how it starts itself again in another role.
 *
 * Four ways lead here: a checkout, a bundle, the packed file (a bundle and its Deno, unpacked into a cache folder) and a
 * compiled binary. A role always runs the very version of its parent, also when the file that was started has been replaced
 * by a newer one meanwhile; so the packed file is not called again, but what it was unpacked to.
 */

import { fileURLToPath } from "node:url";
import type { Environment } from "./paths.ts";

const isCheckout = import.meta.url.endsWith(".ts"); // the parts of a bundle are JavaScript and lie side by side

/** A URL writes a space as %20, a path does not. */
const pathTo = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));

export interface SelfCommand {
  readonly command: string;
  readonly args: readonly string[];
}

/**
 * Where this program's own files are, and what executes it: what a confined thread must read to start its workers, whose code
 * Deno reads with the rights of who starts them.
 */
export function ownProgram(environment: Environment): { programFolders: string[]; executable: string } {
  const folder = pathTo(isCheckout ? "../" : "./");
  const own = isCheckout ? ["cli", "core", "gpu", "net", "chain"].map((name) => `${folder}${name}`) : [folder];
  const file = programFile(environment);
  const files = file === null ? [] : [file];
  return { programFolders: [...own, `${denoFolder(environment)}/npm`, ...files], executable: Deno.execPath() };
}

/**
 * The one file that is the whole program, which an upgrade replaces; null in a checkout. A packed file, which unpacks itself, says
 * where it is in IOTA_PROGRAM.
 */
export function programFile({ get }: Environment): string | null {
  const packed = get("IOTA_PROGRAM");
  if (packed) return packed;
  if (Deno.build.standalone) return Deno.execPath();
  return isCheckout ? null : pathTo("./main.js");
}

/** Where a packed file unpacks its versions to, the next one too; null where there is nothing to unpack. */
export function unpackFolder({ get }: Environment): string | null {
  return get("IOTA_PROGRAM") && !isCheckout ? pathTo("../..").replace(/\/$/, "") : null;
}

/** What a person, or a service, types to start this program; in a checkout the launcher that `make setup` writes. */
export function launchCommand(environment: Environment): SelfCommand {
  const packed = environment.get("IOTA_PROGRAM");
  if (packed) return { command: packed, args: [] };
  const launcher = pathTo("../iota");
  return isCheckout && isThere(launcher) ? { command: launcher, args: [] } : selfCommand();
}

function isThere(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/** Of the packages that Deno fetched; one of them is a text to train on. */
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
 * Everything is inside a bundle: it reads no configuration and fetches nothing. What `deno.json` says of unstable features in a
 * checkout, it says here. `.ci/packed_header` has the same flags.
 */
const bundleFlags = [
  "--no-config",
  "--no-lock",
  "--no-remote",
  "--no-npm",
  "--cached-only",
  "--unstable-worker-options",
];

/** A compiled binary is its own command; a checkout or a bundle is run by the same Deno with the same rights. */
export function selfCommand(): SelfCommand {
  const command = Deno.execPath();
  if (Deno.build.standalone) return { command, args: [] };
  const [flags, entry] = isCheckout
    ? [["--config", pathTo("../deno.json")], pathTo("./main.ts")]
    : [bundleFlags, pathTo("./main.js")]; // not Deno.mainModule: of a confined thread that is its own file
  return { command, args: ["run", "--quiet", "--no-prompt", ...flags, ...rights, entry] };
}
