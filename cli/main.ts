/** The entry of `iota`. */

import { main } from "./command_line.ts";
import { takeProxyVariables } from "./program/proxy_variables.ts";
import { restoreHome } from "./program/self.ts";
import { denoHost, nohupVariables } from "./rights/host.ts";

const nohup = nohupVariables(); // first, see there
restoreHome();
const host = denoHost({ taken: { ...nohup, ...takeProxyVariables() }, confined: confinedUrl() });
host.exit(await main(Deno.args, host));

/** A bundle is JavaScript. */
function confinedUrl(): URL {
  return import.meta.url.endsWith(".js")
    ? new URL("./confined_worker.js", import.meta.url)
    : new URL("./confined_worker.ts", import.meta.url);
}
