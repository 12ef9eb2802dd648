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
  return { programFolders: [...own, `${denoFolder(environment)}/npm`], executable: Deno.execPath() };
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
