/**
 * How this program starts itself again in another role.
 */

export interface SelfCommand {
  readonly command: string;
  readonly args: readonly string[];
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
  const main = new URL("../main.ts", import.meta.url);
  const isCheckout = import.meta.url.endsWith(".ts");
  const config = isCheckout ? ["--config", new URL("../../deno.json", import.meta.url).pathname] : ["--no-config"];
  const entry = isCheckout ? main.pathname : Deno.mainModule;
  return { command, args: ["run", "--quiet", "--no-prompt", ...config, ...rights, entry] };
}
