/** Viewers at the orchestrator's real port: they do not keep it from closing, and one that does not read holds little. */

import { assert, assertEquals, assertRejects } from "@std/assert";
import { openHubPort } from "../../../cli/orchestrator/hub/hub_port.ts";
import { defaultNetLimits } from "../../../net/limits.ts";
import { sampleRun } from "../../support/sample_run.ts";
import { servedRun } from "../../support/served_run.ts";

Deno.test("Events: the port closes at once while a viewer follows and another does not read", async () => {
  const run = servedRun();
  const port = await openHubPort({
    wanted: { host: "127.0.0.1", ports: [0] },
    ...{ limits: defaultNetLimits, descriptors: null, onNotice: () => {} },
  });
  port.serve({
    accept: () => ({ frame() {}, closed() {} }),
    fetch: (request) => run.get(new URL(request.url).pathname, {}, request.method),
  });
  const follower = (await fetch(`${port.url}/events`)).body!.getReader();
  const idle = await fetch(`${port.url}/events`);
  assertEquals(idle.status, 200);
  const text = new TextDecoder().decode((await follower.read()).value);
  assert(text.includes("event: snapshot"), text);
  for (const { record } of sampleRun(40)) run.tell(record);
  run.timers.advance(500);
  assert(new TextDecoder().decode((await follower.read()).value).includes("event: changes"));
  await port.close();
  await assertRejects(async () => {
    while (!(await follower.read()).done);
    throw new Error("ended"); // an orderly end is as good
  });
  await assertRejects(() => idle.text());
  run.close();
});
