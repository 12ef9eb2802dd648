/**
 * The limit on this process's open files and sockets. Deno has no call for it, so a shell is asked while programs may
 * still be started.
 */

import type { Environment } from "../program/paths.ts";

export const openFilesVariable = "IOTA_OPEN_FILES";

export function askOpenFiles(): string | null {
  if (Deno.build.os === "windows") return null;
  try {
    const asked = new Deno.Command("/bin/sh", { args: ["-c", "ulimit -n"], clearEnv: true, stderr: "null" })
      .outputSync();
    const text = new TextDecoder().decode(asked.stdout).trim();
    return /^\d{1,9}$/.test(text) ? text : null;
  } catch {
    return null; // no shell, or no right to start one: the port then discovers the limit itself
  }
}

export function readOpenFiles(environment: Environment): number | null {
  const text = environment.get(openFilesVariable);
  return text === undefined || !/^\d{1,9}$/.test(text) ? null : Number(text);
}
