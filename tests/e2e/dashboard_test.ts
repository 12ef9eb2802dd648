/** A running swarm's pages at the address that it prints, served by a process that has given up its rights. */

import { assert, assertEquals, assertLess, assertMatch } from "@std/assert";
import { IotaProcess, type Line } from "../support/process/iota_process.ts";
import { parseExposition } from "../support/parse_exposition.ts";
import { withScratchFolder } from "../support/scratch_folder.ts";

const words = ["--size", "toy", "--device", "reference", "--steps", "4000", "--json"];

Deno.test("Dashboard: a running swarm serves its page, events and metrics, and Ctrl-C ends it with a viewer", async () => {
  await withScratchFolder(async (folder) => {
    const swarm = new IotaProcess(["swarm", ...words, "--data", folder], {}, { ownSession: true });
    const { dashboard } = await swarm.lines.next("listening") as Line & { dashboard: string };
    await swarm.lines.next("stepClosed");
    const page = await (await fetch(dashboard)).text();
    const program = /<script type="module" src="([^"]+)"/.exec(page)![1]!;
    const script = await fetch(new URL(program, dashboard));
    assertEquals([script.status, script.headers.get("content-type")], [200, "text/javascript; charset=utf-8"]);
    assertMatch(await script.text(), /^followRun\(/m);
    const { values } = parseExposition(await (await fetch(new URL("/metrics", dashboard))).text());
    assert(values.get("iota_step")! >= 1 && values.get("iota_tokens_total")! > 0);
    const { run } = await (await fetch(new URL("/api/v1/run", dashboard))).json();
    assertEquals([run.steps, run.stages.length > 0], [4000, true]);
    const viewer = (await fetch(new URL("/events", dashboard))).body!.getReader();
    assertMatch(new TextDecoder().decode((await viewer.read()).value), /event: snapshot\n/);
    assertMatch(new TextDecoder().decode((await viewer.read()).value), /event: changes\n/);
    const askedMs = performance.now();
    swarm.interruptAll();
    await swarm.ended;
    assertLess(performance.now() - askedMs, 30_000);
    await viewer.cancel().catch(() => "its connection is gone");
  });
});
