/**
 * How this program starts itself again in another role.
 *
 * Four ways lead here: a checkout, a bundle, the packed file (a bundle and its Deno, unpacked into a cache folder) and a
 * compiled binary. A role always runs the very version of its parent, also when the file that was started has been replaced
 * by a newer one meanwhile; so the packed file is not called again, but what it was unpacked to.
 */

import { fileURLToPath } from "node:url";

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

/** Everything is inside a bundle: it reads no configuration and fetches nothing. `.ci/packed_header` says the same. */
const bundleFlags = ["--no-config", "--no-lock", "--no-remote", "--no-npm", "--cached-only"];

export function selfCommand(): SelfCommand {
  const command = Deno.execPath();
  if (Deno.build.standalone) return { command, args: [] };
  const isCheckout = import.meta.url.endsWith(".ts");
  const pathTo = (relative: string) => fileURLToPath(new URL(relative, import.meta.url)); // a URL writes a space as %20
  const [flags, entry] = isCheckout
    ? [["--config", pathTo("../../deno.json")], pathTo("../main.ts")]
    : [bundleFlags, fileURLToPath(Deno.mainModule)];
  return { command, args: ["run", "--quiet", "--no-prompt", ...flags, ...rights, entry] };
}
