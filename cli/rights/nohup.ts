/**
 * Whether this process was started to outlive its terminal: `nohup` has SIGHUP ignored.
 *
 * Owns: the variable that carries the answer. The launcher and the packed file ask in their shell. Without them the process asks as it
 * starts, which Deno, as it takes SIGHUP over by itself in the first moments, may forestall: then the answer is no. A child inherits
 * which signals are ignored, so a shell that sends SIGHUP to itself survives only under `nohup`.
 */

export const nohupVariable = "IOTA_NOHUP"; // "yes" or "no"; children inherit it as they do what is ignored

export function nohupVariables(): Record<string, string> {
  const told = Deno.env.get(nohupVariable);
  return (told === undefined ? askNohup() : told === "yes") ? { [nohupVariable]: "yes" } : {};
}

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
