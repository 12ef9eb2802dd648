/** The orchestrator's port before its role is there, and where it listens. */

import { assertEquals, assertMatch } from "@std/assert";
import type { OptionValues } from "../../../cli/terminal/command.ts";
import { openHubPort, wantedPlace } from "../../../cli/orchestrator/hub/hub_port.ts";
import { resolveConfig } from "../../../core/settings/parse.ts";
import { dialWebSocket } from "../../../net/links/client.ts";
import { defaultNetLimits } from "../../../net/limits.ts";
import { Node } from "../../../net/links/node.ts";
import type { NodeEvent } from "../../../net/links/transport.ts";
import { EventLog } from "../../support/event_log.ts";
import { countingRandom, ManualTimers } from "../../support/net/manual_timers.ts";
import { testSigner, testVerify } from "../../support/net/test_keys.ts";

const quiet = { limits: defaultNetLimits, descriptors: null, onNotice: () => {} };

Deno.test("Port: until the orchestrator has started, nodes and programs are asked to retry", async () => {
  const port = await openHubPort({ wanted: { host: "127.0.0.1", ports: [0] }, ...quiet });
  try {
    const answer = await fetch(`${port.url}/status`);
    assertEquals([answer.status, answer.headers.get("retry-after")], [503, "1"]);
    assertMatch(await answer.text(), /orchestrator is still starting; try again/);
    const events = new EventLog<NodeEvent<never>>();
    const node = new Node<never, never>({
      ...{ url: port.url.replace("http", "ws"), verify: testVerify, limits: defaultNetLimits },
      ...{ timers: new ManualTimers(), random: countingRandom(1), onEvent: events.push },
      identity: { signer: testSigner(2), role: "miner", run: null, hub: null },
      read: () => ({ ok: false, fault: { code: "malformedMessage", detail: "none is expected" } }),
    }, dialWebSocket);
    node.connect();
    assertMatch((await events.next("disconnected")).reason, /orchestrator is still starting; try again/);
    node.close("test over");
    port.serve({ accept: () => ({ frame() {}, closed() {} }), fetch: () => new Response("served") });
    assertEquals(await (await fetch(port.url)).text(), "served");
  } finally {
    await port.close();
    await port.close(); // once is enough
  }
});

Deno.test("Port: the typed one is used, else the run's previous one, else the default", () => {
  const config = resolveConfig({ size: "toy" });
  if (!config.ok) throw new Error("the toy is right");
  const saved = {
    runId: "r",
    config: config.config,
    host: "10.0.0.5",
    port: 4711,
    hub: null,
    tokenizerHash: null,
    from: null,
    options: {},
  };
  const typed = (values: { host?: string; port?: number }): OptionValues => ({
    text: () => values.host ?? "127.0.0.1",
    number: () => values.port ?? 9009,
    flag: () => false,
    given: (name) => (values as Record<string, unknown>)[name] !== undefined,
  });
  const cases = [
    [typed({}), null, { host: "127.0.0.1", ports: [9009] }],
    [typed({}), saved, { host: "10.0.0.5", ports: [4711] }],
    [typed({ host: "0.0.0.0", port: 5000 }), saved, { host: "0.0.0.0", ports: [5000] }],
    [typed({ port: 0 }), saved, { host: "10.0.0.5", ports: [4711, 0] }],
    [typed({ port: 0 }), null, { host: "127.0.0.1", ports: [0] }],
  ] as const;
  for (const [options, before, expected] of cases) assertEquals(wantedPlace(options, before), expected as unknown);
});

Deno.test("Port: the run's own port where it is free, and any other where it is not", async () => {
  const first = await openHubPort({ wanted: { host: "127.0.0.1", ports: [0] }, ...quiet });
  const { port } = first.at;
  const second = await openHubPort({ wanted: { host: "127.0.0.1", ports: [port, 0] }, ...quiet });
  assertEquals(second.at.port !== port, true);
  await first.close();
  const third = await openHubPort({ wanted: { host: "127.0.0.1", ports: [port, 0] }, ...quiet });
  assertEquals(third.at.port, port);
  await Promise.all([second.close(), third.close()]);
});
