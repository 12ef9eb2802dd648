/** The port and the dial: the messages when one of them fails. */

import { assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import { dialWebSocket } from "../../../net/links/client.ts";
import { defaultNetLimits } from "../../../net/limits.ts";
import { listen, type ListenOptions } from "../../../net/server.ts";
import { dialRaw } from "../../conformance/transport_world.ts";

const quiet: Omit<ListenOptions, "port"> = {
  host: "127.0.0.1",
  limits: defaultNetLimits,
  accept: () => ({ frame: () => {}, closed: () => {} }),
  fetch: () => new Response("hello"),
};

const mediumAt = (url: string) => ({ url, dial: dialWebSocket, stop: () => Promise.resolve() });

Deno.test("Server: a taken port is named, with the next step", async () => {
  const first = await listen({ ...quiet, port: 0 });
  try {
    await assertRejects(
      () => listen({ ...quiet, port: first.port }),
      Error,
      `Cannot listen on 127.0.0.1:${first.port}: the port is in use`,
    );
  } finally {
    await first.close();
  }
});

Deno.test("Server: an address that is not ours is named", async () => {
  await assertRejects(() => listen({ ...quiet, host: "192.0.2.1", port: 0 }), Error, "does not have that address");
});

Deno.test("Server: HTTP and WebSocket share the port, and it is free after close", async () => {
  const server = await listen({ ...quiet, port: 0 });
  assertStringIncludes(await (await fetch(server.url)).text(), "hello");
  const raw = dialRaw(mediumAt(server.url.replace("http", "ws")));
  await raw.events.next("opened");
  await server.close();
  await raw.events.next("closed");
  const again = await listen({ ...quiet, port: server.port });
  await again.close();
});

Deno.test("Client: an orchestrator that is not there is named, with what to check", async () => {
  const gone = await listen({ ...quiet, port: 0 });
  await gone.close();
  const { events } = dialRaw(mediumAt(gone.url.replace("http", "ws")));
  const { reason } = await events.next("closed");
  assertMatch(
    reason,
    new RegExp(`^Cannot reach the orchestrator at ws://127.0.0.1:${gone.port}.*; check that it runs`),
  );
});
