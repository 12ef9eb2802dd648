/**
 * Whether this process was started to outlive its terminal: `nohup` has SIGHUP ignored.
 *
 * Owns: asking while programs may still be started, and passing the answer to the confined thread among its variables. Deno has no
 * call for it. A child inherits which signals are ignored, so a shell that sends SIGHUP to itself survives only under `nohup`.
 */

export const nohupVariable = "IOTA_NOHUP"; // of the confined thread

/** False also where it cannot be told. */
export function askNohup(): boolean {
  if (Deno.build.os === "windows") return false; // it has no such signal
  try {
    const asked = new Deno.Command("/bin/sh", { args: ["-c", "kill -HUP $$"], clearEnv: true, stderr: "null" });
    return asked.outputSync().code === 0;
  } catch {
    return false; // no shell, or no right to start one
  }
}
