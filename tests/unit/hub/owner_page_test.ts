/** The owner's page: who may act, what is passed on to the orchestrator, and what a stranger's page in the same browser gets. */

import { assertEquals, assertMatch } from "@std/assert";
import { openOwnerPage } from "../../../cli/orchestrator/owner/run_owner_page.ts";
import type { OwnerRequest } from "../../../cli/orchestrator/owner/owner_request.ts";
import { parsed } from "../../../core/fault.ts";
import { defaultNetLimits } from "../../../net/limits.ts";
import { listen } from "../../../net/server.ts";
import { fakeServer } from "../../support/net/fake_server.ts";

const key = "ab".repeat(32);
const own = "http://127.0.0.1:9011";

function opened(hub = "http://127.0.0.1:1") {
  const acted: OwnerRequest[] = [];
  const page = openOwnerPage({
    hub,
    key,
    act: (request) => {
      acted.push(request);
      return Promise.resolve(parsed("done"));
    },
  });
  const ask = async (path: string, init: RequestInit = {}, origin = own) => {
    const response = await page(new Request(`${origin}${path}`, init));
    return { status: response.status, text: await response.text() };
  };
  const post = (body: unknown, headers: Record<string, string> = { "x-iota-owner": key }, origin = own) =>
    ask("/owner", { method: "POST", headers, body: JSON.stringify(body) }, origin);
  return { acted, ask, post };
}

Deno.test("Owner's page: a request with its key is acted on, any other is not", async () => {
  const { acted, ask, post } = opened();
  assertEquals(await post({ action: "pause" }), { status: 200, text: '{"text":"done"}' });
  const refused = [
    await post({ action: "pause" }, {}),
    await post({ action: "pause" }, { "x-iota-owner": key.slice(0, -1) }),
    await post({ action: "pause" }, { "x-iota-owner": key }, "http://evil.example:9011"),
    await post({ action: "pause" }, { "x-iota-owner": key }, "http://127.0.0.1.evil.example:9011"),
    await post({ action: "burn" }),
    await post({ action: "rate", learningRate: 1e9 }),
    await post({ action: "pause", more: "x".repeat(5_000) }),
    await ask("/owner"),
    await ask("/", { method: "POST" }),
  ];
  assertEquals(refused.map(({ status }) => status), [401, 401, 403, 403, 400, 400, 429, 400, 400]);
  assertEquals(acted, [{ action: "pause" }]);
});

Deno.test("Owner's page: the program is this process's own, and has what the owner needs", async () => {
  const { ask } = opened();
  const { status, text } = await ask("/");
  assertEquals(status, 200);
  assertMatch(text, /id="owner-pause"/);
  assertEquals((await ask("/program/cli/observe/dashboard/page/owner.ts")).status, 200);
});

Deno.test("Owner's page: only the orchestrator's public data is passed on", async () => {
  const asked: string[] = [];
  await using hub = await fakeServer((request) => {
    asked.push(new URL(request.url).pathname);
    return Response.json({ phase: "training" }, { headers: { "set-cookie": "a=b", "retry-after": "3" } });
  });
  const { ask } = opened(hub.url);
  for (const path of ["/status", "/events", "/api/v1/run", "/metrics"]) assertEquals((await ask(path)).status, 200);
  for (const path of ["/blobs/00", "/api/v2/run", "/healthz", "//evil.example/", "/api/v1/run%00"]) {
    assertEquals((await ask(path)).status, 404, path);
  }
  assertEquals(asked, ["/status", "/events", "/api/v1/run", "/metrics"]);
});

Deno.test("Owner's page: over a real socket, a browser that was led here by another name is refused", async () => {
  const answer = openOwnerPage({ hub: "http://127.0.0.1:1", key, act: () => Promise.resolve(parsed("done")) });
  const accept = () => ({ frame: () => {}, closed: () => {} });
  const at = { host: "127.0.0.1", port: 0, limits: defaultNetLimits, onNotice: () => {} };
  const listener = await listen({ ...at, fetch: answer, accept });
  try {
    const port = Number(new URL(listener.url).port);
    const statusFor = async (host: string) => {
      using link = await Deno.connect({ hostname: "127.0.0.1", port });
      const lines = ["POST /owner HTTP/1.1", `host: ${host}`, `x-iota-owner: ${key}`, "connection: close"];
      const body = '{"action":"pause"}';
      const text = [...lines, `content-length: ${body.length}`, "", body].join("\r\n");
      await link.write(new TextEncoder().encode(text));
      return (await new Response(link.readable).text()).slice(9, 12);
    };
    assertEquals(await Promise.all(["evil.example", `127.0.0.1:${port}`].map(statusFor)), ["403", "200"]);
  } finally {
    await listener.close();
  }
});

Deno.test("Owner's page: an orchestrator that does not answer is said to be one", async () => {
  assertEquals((await opened().ask("/status")).status, 502);
});
