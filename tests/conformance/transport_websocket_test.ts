/** Real sockets keep the promises of every transport. */

import { dialWebSocket } from "../../net/links/client.ts";
import { listen } from "../../net/server.ts";
import { transportSuite } from "./transport_suite.ts";

transportSuite("WebSocket", async ({ accept, limits }) => {
  const notFound = () => new Response("not found", { status: 404 });
  const listener = await listen({ host: "127.0.0.1", port: 0, limits, accept, fetch: notFound });
  return { url: listener.url.replace("http", "ws"), dial: dialWebSocket, stop: () => listener.close() };
});
