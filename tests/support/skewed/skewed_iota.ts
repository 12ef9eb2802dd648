/**
 * The program on a machine whose clock is IOTA_TEST_AHEAD_MS ahead (negative: behind). A role runs in a confined thread, so that
 * thread's clock is moved too; it may also read the code in this folder.
 */

import { denoHost } from "../../../cli/rights/host.ts";
import { main } from "../../../cli/command_line.ts";
import { moveClock } from "./moved_clock.ts";

interface Confined extends WorkerOptions {
  readonly deno: { readonly permissions: Deno.PermissionOptionsObject & { readonly read: string[] } };
}

const Real = globalThis.Worker;
const aheadMs = Number(Deno.env.get("IOTA_TEST_AHEAD_MS"));
const confinedThread = new URL("./skewed_confined.ts", import.meta.url);
const folder = new URL(".", import.meta.url).pathname;
globalThis.Worker = class extends Real {
  constructor(url: string | URL, options?: WorkerOptions) {
    if (options?.name !== "command") {
      super(url, options);
      return;
    }
    const { permissions } = (options as Confined).deno;
    const wider = { ...options, deno: { permissions: { ...permissions, read: [...permissions.read, folder] } } };
    super(new URL(`?aheadMs=${aheadMs}`, confinedThread), wider as WorkerOptions);
  }
};
moveClock(aheadMs);
const host = denoHost({ taken: {}, confined: confinedThread });
host.exit(await main(Deno.args, host));
