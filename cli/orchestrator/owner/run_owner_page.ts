/** `iota admin page`: the dashboard of a running orchestrator on this machine, with what its owner may do. Until Ctrl-C. */

import { parsed } from "../../../core/fault.ts";
import { defaultNetLimits } from "../../../net/limits.ts";
import { listen } from "../../../net/server.ts";
import { systemRandom } from "../../../net/timers.ts";
import type { CommandContext } from "../../terminal/command.ts";
import { untilAborted } from "../../observe/dashboard/run_dashboard.ts";
import { attempting } from "../../program/errors.ts";
import { type OwnedRun, sendToHub } from "./owner_call.ts";
import { asRefusal, openOwnerPage } from "./owner_page.ts";

const host = "127.0.0.1"; // whoever reaches the page and has its key acts as the owner
const keyBytes = 32;

export async function runOwnerPage(context: CommandContext, owned: OwnedRun): Promise<number> {
  const { output, options } = context;
  const interruption = context.interruption();
  const port = options.number("port")!;
  const key = systemRandom.bytes(keyBytes).toHex();
  let requests = 0;
  const fetch = openOwnerPage({
    hub: owned.url,
    key,
    act: async (request) => {
      try {
        const text = await sendToHub(owned, request);
        requests += 1;
        output.event({ type: "acted", ...request, text });
        output.line(text);
        return parsed(text);
      } catch (error) {
        if (!(error instanceof Error)) throw error;
        output.log.warn(error.message);
        return asRefusal(error);
      }
    },
  });
  const listener = await attempting({ action: "serve the owner's page on", value: `${host}:${port}` }, () =>
    listen({
      ...{ host, port, limits: defaultNetLimits, fetch, onNotice: (text) => output.log.warn(text) },
      accept: (wire) => {
        wire.close("no node can join here");
        return { frame: () => {}, closed: () => {} };
      },
    }));
  const url = `${listener.url}/#owner=${key}`;
  output.event({ type: "page", url, run: owned.run });
  output.line(`Owner's page: ${url} (for your browser alone; Ctrl-C ends it)`);
  await untilAborted(interruption);
  await listener.close();
  output.summary({ run: owned.run, requests });
  return 0;
}
