/** A run's pages on a socket, for a browser; the test tells the records and moves the clock. */

import { openRecordLog } from "../../../cli/observe/projection/record_log.ts";
import { ManualTimers } from "../net/manual_timers.ts";
import { type ServedRun, servedRun, type ServedRunOptions } from "../served_run.ts";

export interface LivePage extends ServedRun {
  readonly url: string;
}

/** With a folder, the run keeps a record log there and its past can be shown. */
export async function withLivePage(
  { folder, ...options }: ServedRunOptions & { readonly folder?: string },
  body: (run: LivePage) => Promise<void>,
): Promise<void> {
  const timers = new ManualTimers();
  const warn = (text: string) => {
    throw new Error(text);
  };
  const records = folder === undefined ? {} : { records: await openRecordLog({ folder, timers, warn }) };
  const run = servedRun({ ...options, timers, ...records });
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, async (request) => {
    const { pathname, search } = new URL(request.url);
    if (!run.paths.includes(pathname)) return new Response("missing", { status: 404 });
    return await run.get(pathname, Object.fromEntries(request.headers), request.method, search);
  });
  try {
    await body({ ...run, url: `http://127.0.0.1:${server.addr.port}/` });
  } finally {
    run.close();
    await server.shutdown();
  }
}
