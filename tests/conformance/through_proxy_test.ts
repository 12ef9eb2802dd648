/**
 * Links, blobs and the chain keep their promises through a proxy that only knows CONNECT, and none of them looks for its host itself:
 * `hub.invalid` exists for the proxy alone.
 */

import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import { RpcSocket } from "../../chain/subtensor/connection/rpc_socket.ts";
import { dialThrough } from "../../net/links/client.ts";
import { Outbound } from "../../net/proxy/outbound.ts";
import { ProxyError } from "../../net/proxy/tunnel.ts";
import { defaultNetLimits } from "../../net/limits.ts";
import { listen } from "../../net/server.ts";
import { WebSocketServer } from "ws";
import { systemTimers } from "../../net/timers.ts";
import { MemoryBlobs } from "../../net/blobs/blob_memory.ts";
import { BlobWorld } from "../support/net/blob_world.ts";
import { type SmallProxy, startProxy } from "../support/net/small_proxy.ts";
import { blobSuite, suiteCapacity } from "./blobs_suite.ts";
import { deliveryCases } from "./transport_delivery_cases.ts";
import { transportSuite } from "./transport_suite.ts";

const atProxy = (url: string): string => url.replace("127.0.0.1", "hub.invalid");
const by = ({ url }: Pick<SmallProxy, "url">): Outbound =>
  new Outbound({ get: (name) => name === "ALL_PROXY" ? url : undefined });

transportSuite("WebSocket through a proxy", async ({ accept, limits }) => {
  const notFound = () => new Response("not found", { status: 404 });
  const listener = await listen({ host: "127.0.0.1", port: 0, limits, accept, fetch: notFound });
  const proxy = await startProxy();
  const stop = async () => {
    await listener.close();
    await proxy.close();
  };
  return { url: atProxy(listener.url.replace("http", "ws")), dial: dialThrough(by(proxy)), stop };
}, [deliveryCases]);

blobSuite("an orchestrator, by HTTP through a proxy", async () => {
  const { blobBytes } = suiteCapacity;
  const world = new BlobWorld({ store: new MemoryBlobs(suiteCapacity), blobBytes });
  const limits = { ...defaultNetLimits, blobBytes };
  const accept = () => ({ frame: () => {}, closed: () => {} });
  const listener = await listen({
    host: "127.0.0.1",
    port: 0,
    limits,
    accept,
    fetch: (request) => world.app.fetch(request),
  });
  const proxy = await startProxy();
  const close = async () => {
    await listener.close();
    await proxy.close();
  };
  const { fetch } = by(proxy);
  return {
    store: world.client({ url: atProxy(listener.url), fetch }),
    locates: "url",
    fetch: (url, init) => fetch(String(url), init),
    close,
  };
});

/** Why a link could not be opened, and its remedy. */
function failureOf(url: string, way: Outbound): Promise<{ reason: string; cure: string | undefined }> {
  const { promise, resolve } = Promise.withResolvers<{ reason: string; cure: string | undefined }>();
  dialThrough(way)(url, { opened: () => {}, frame: () => {}, closed: (reason, cure) => resolve({ reason, cure }) });
  return promise;
}

Deno.test("Through a proxy: the chain's client takes the same way", async () => {
  const server = new WebSocketServer({ host: "127.0.0.1", port: 0 });
  await new Promise<void>((listening) => server.on("listening", () => listening()));
  server.on(
    "connection",
    (socket: { on: (name: string, then: (data: unknown) => void) => void; send: (text: string) => void }) =>
      socket.on("message", (data) => socket.send(JSON.stringify({ id: JSON.parse(String(data)).id, result: "0xab" }))),
  );
  const proxy = await startProxy();
  const { port } = server.address();
  const way = by(proxy);
  const url = `ws://chain.invalid:${port}`;
  const rpc = await RpcSocket.open({
    url,
    timers: systemTimers,
    callDeadlineMs: 5_000,
    socketOptions: (to) => way.socketOptions(to),
  });
  assertEquals(await rpc.call("chain_getBlockHash", [0]), "0xab");
  assertEquals(proxy.requests, [`CONNECT chain.invalid:${port} HTTP/1.1`]);
  server.close();
  await proxy.close();
  await rpc.closed;
});

Deno.test("Through a proxy: what it answered is in the error, for a link and for a request", async () => {
  const proxy = await startProxy({ refuses: "403 Filtered by policy" });
  const said =
    /the proxy http:\/\/127.0.0.1:\d+ \(ALL_PROXY\) answered '403 Filtered by policy' to CONNECT hub.invalid:80/;
  const { reason, cure } = await failureOf("ws://hub.invalid", by(proxy));
  assertMatch(reason, said);
  assertMatch(cure ?? "", /NO_PROXY=hub.invalid/);
  const error = await assertRejects(() => by(proxy).fetch("http://hub.invalid/status"), ProxyError);
  assertMatch(error.message, said);
  await proxy.close();
});

Deno.test("Through a proxy: name and password go along, and a proxy that wants them says so", async () => {
  const proxy = await startProxy({ refuses: "407 Proxy Authentication Required" });
  const url = proxy.url.replace("//", "//me:secret@");
  const { reason } = await failureOf("ws://hub.invalid:9009", by({ url }));
  assertMatch(reason, /answered '407 .*ALL_PROXY=http:\/\/NAME:PASSWORD@HOST:PORT/);
  assertEquals(reason.includes("secret"), false);
  assertMatch(proxy.heads[0]!, new RegExp(`Proxy-Authorization: Basic ${btoa("me:secret")}`));
  await proxy.close();
});

Deno.test("Through a proxy: one that is away, or of a kind that cannot be used, is named", async () => {
  const proxy = await startProxy();
  await proxy.close();
  assertMatch((await failureOf("ws://hub.invalid", by(proxy))).reason, /the proxy .* cannot be reached: .*refused/i);
  const socks = by({ url: "socks5://127.0.0.1:1080" });
  assertMatch((await failureOf("ws://hub.invalid", socks)).reason, /ALL_PROXY is socks5:\/\/127.0.0.1:1080, and only/);
  await assertRejects(() => socks.fetch("http://hub.invalid/status"), ProxyError, "ALL_PROXY is socks5");
});

Deno.test("Through a proxy: a request that is given up ends, and loopback is never asked of it", async () => {
  const stuck = await listen({
    ...{ host: "127.0.0.1", port: 0, limits: defaultNetLimits, accept: () => ({ frame: () => {}, closed: () => {} }) },
    fetch: (request) => request.url.endsWith("/own") ? new Response("own") : new Promise<Response>(() => {}),
  });
  const proxy = await startProxy();
  const way = by(proxy);
  const controller = new AbortController();
  const asked = way.fetch(`${atProxy(stuck.url)}/never`, { signal: controller.signal });
  controller.abort(new Error("given up"));
  await assertRejects(() => asked, Error, "given up");
  assertEquals(await (await way.fetch(`${stuck.url}/own`)).text(), "own");
  assertEquals(proxy.requests.filter((line) => line.includes("127.0.0.1")), []);
  await proxy.close();
  await stuck.close();
});
