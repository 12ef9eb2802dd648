/**
 * A server that only a test knows, on a free port of loopback. Over our own `listen`, as Deno's server refuses answers once
 * another test of the process has loaded Hono's, which puts its own Response in place of the global one.
 */

import { defaultNetLimits } from "../../../net/limits.ts";
import { listen } from "../../../net/server.ts";

export interface FakeServer extends AsyncDisposable {
  readonly url: string;
}

export async function fakeServer(fetch: (request: Request) => Response): Promise<FakeServer> {
  const listener = await listen({
    host: "127.0.0.1",
    port: 0,
    limits: defaultNetLimits,
    fetch,
    accept: (wire) => {
      wire.close("no sockets here");
      return { frame: () => {}, closed: () => {} };
    },
  });
  return { url: listener.url, [Symbol.asyncDispose]: () => listener.close() };
}
