/**
 * How many files and sockets this process may have open: a hub must know before it runs out, as then also its journal fails.
 *
 * Owns: asking a shell, while programs may still be started, and handing the number to the confined thread among its variables.
 * Deno has no call for it and opens nothing below /proc without all rights.
 */

import type { Environment } from "../paths.ts";

export const openFilesVariable = "IOTA_OPEN_FILES";

/** Null: nobody says, or there is no limit. */
export function askOpenFiles(): string | null {
  if (Deno.build.os === "windows") return null;
  try {
    const asked = new Deno.Command("/bin/sh", { args: ["-c", "ulimit -n"], clearEnv: true, stderr: "null" })
      .outputSync();
    const text = new TextDecoder().decode(asked.stdout).trim();
    return /^\d{1,9}$/.test(text) ? text : null;
  } catch {
    return null; // no shell, or no right to start one: the port then finds out by itself
  }
}

export function readOpenFiles(environment: Environment): number | null {
  const text = environment.get(openFilesVariable);
  return text === undefined || !/^\d{1,9}$/.test(text) ? null : Number(text);
}
