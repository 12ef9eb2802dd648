/**
 * The program, whose compute workers lose their device as IOTA_TEST_LOSE says: queries of losing_worker.ts, separated by
 * spaces. A role runs in a confined thread, so that thread is replaced too, and may also read the code in this folder.
 */

import { denoHost } from "../../../cli/rights/host.ts";
import { main } from "../../../cli/command_line.ts";

interface Confined extends WorkerOptions {
  readonly deno: { readonly permissions: Deno.PermissionOptionsObject & { readonly read: string[] } };
}

const Real = globalThis.Worker;
const queries = Deno.env.get("IOTA_TEST_LOSE") ?? "";
const confinedThread = new URL("./losing_confined.ts", import.meta.url);
const folder = new URL(".", import.meta.url).pathname;
globalThis.Worker = class extends Real {
  constructor(url: string | URL, options?: WorkerOptions) {
    if (options?.name !== "command") {
      super(url, options);
      return;
    }
    const { permissions } = (options as Confined).deno;
    const wider = { ...options, deno: { permissions: { ...permissions, read: [...permissions.read, folder] } } };
    super(new URL(`?${new URLSearchParams({ queries })}`, confinedThread), wider as WorkerOptions);
  }
};
const host = denoHost({ taken: {}, confined: confinedThread });
host.exit(await main(Deno.args, host));
