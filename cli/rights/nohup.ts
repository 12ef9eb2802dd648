/**
 * Whether this process was started to outlive its terminal: `nohup` has SIGHUP ignored.
 *
 * Owns: asking as the process starts, and the variable that passes the answer to the confined thread. Deno has no call for it, and in a
 * checkout it takes SIGHUP over by itself within the first moments, now and then before the question: then the answer is no. A child inherits which signals are ignored, so a shell that sends SIGHUP to itself survives only under `nohup`.
 */

export const nohupVariable = "IOTA_NOHUP"; // set for this process and its confined thread alone

export const nohupVariables = (): Record<string, string> => askNohup() ? { [nohupVariable]: "yes" } : {};

/** False also where it cannot be told. */
function askNohup(): boolean {
  if (Deno.build.os === "windows") return false; // it has no such signal
  try {
    const asked = new Deno.Command("/bin/sh", { args: ["-c", "kill -HUP $$"], clearEnv: true, stderr: "null" });
    return asked.outputSync().code === 0;
  } catch {
    return false; // no shell, or no right to start one
  }
}
