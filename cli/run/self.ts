/**
 * How this program starts itself again in another role.
 */

import { fileURLToPath } from "node:url";
import type { Environment } from "../paths.ts";

export interface SelfCommand {
  readonly command: string;
  readonly args: readonly string[];
}

/**
 * Where this program's own files are, and what executes it: what a confined thread must read to start its workers, whose code
 * Deno reads with the rights of who starts them.
 */
export function ownProgram(environment: Environment): { programFolders: string[]; executable: string } {
  const isCheckout = import.meta.url.endsWith(".ts");
  const folder = fileURLToPath(new URL(isCheckout ? "../../" : "./", import.meta.url));
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
  return import.meta.url.endsWith(".ts") ? null : fileURLToPath(new URL("./main.js", import.meta.url));
}

/** What a person, or a service, types to start this program; in a checkout the launcher that `make setup` writes. */
export function launchCommand(environment: Environment): SelfCommand {
  const packed = environment.get("IOTA_PROGRAM");
  if (packed) return { command: packed, args: [] };
  const launcher = fileURLToPath(new URL("../../iota", import.meta.url));
  return import.meta.url.endsWith(".ts") && isThere(launcher) ? { command: launcher, args: [] } : selfCommand();
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

/** A compiled binary is its own command; a checkout or a bundle is run by the same Deno with the same rights. */
export function selfCommand(): SelfCommand {
  const command = Deno.execPath();
  if (Deno.build.standalone) return { command, args: [] };
  const isCheckout = import.meta.url.endsWith(".ts");
  const entry = new URL(isCheckout ? "../main.ts" : "./main.js", import.meta.url).pathname; // also of a bundled worker
  const config = isCheckout
    ? ["--config", new URL("../../deno.json", import.meta.url).pathname]
    : ["--no-config", "--unstable-worker-options"];
  return { command, args: ["run", "--quiet", "--no-prompt", ...config, ...rights, entry] };
}
