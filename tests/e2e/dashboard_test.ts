/** A running swarm's pages at the address that it prints, served by a process that has given up its rights. */

import { assert, assertEquals, assertLess, assertMatch } from "@std/assert";
import { shellWords } from "../../cli/program/shell_words.ts";
import { iota, iotaCommand, IotaProcess, type Line } from "../support/process/iota_process.ts";
import { parseExposition } from "../support/parse_exposition.ts";
import { testWhere } from "../support/test_where.ts";
import { recordRun } from "../support/record_folder.ts";
import { withScratchFolder } from "../support/scratch_folder.ts";

const words = ["--size", "toy", "--device", "cpu", "--steps", "4000", "--json"];

Deno.test("Dashboard: a running swarm serves its page, events and metrics, and Ctrl-C ends it with a viewer", async () => {
  await withScratchFolder(async (folder) => {
    const swarm = new IotaProcess(["swarm", ...words, "--data", folder], {}, { ownSession: true });
    const { dashboard } = await swarm.lines.next("listening") as Line & { dashboard: string };
    await swarm.lines.next("stepClosed");
    const page = await (await fetch(dashboard)).text();
    const program = /<script type="module" src="([^"]+)"/.exec(page)![1]!;
    const script = await fetch(new URL(program, dashboard));
    assertEquals([script.status, script.headers.get("content-type")], [200, "text/javascript; charset=utf-8"]);
    assertMatch(await script.text(), /^await open\(/m);
    const { values } = parseExposition(await (await fetch(new URL("/metrics", dashboard))).text());
    assert(values.get("iota_step")! >= 1 && values.get("iota_tokens_total")! > 0);
    const { text } = await swarm.lines.next("textSampled") as Line & { text: string };
    const { run } = await (await fetch(new URL("/api/v1/run", dashboard))).json();
    assertEquals([run.steps, run.stages.length > 0], [4000, true]);
    assertEquals([run.samples[0].prompt, run.samples[0].text, text.length > 0], ["The people", text, true]);
    const { first, last } = await (await fetch(new URL("/api/v1/history", dashboard))).json();
    const before = await (await fetch(new URL(`/api/v1/past?at=${last}`, dashboard))).json();
    assertEquals([first, last > 10, before.sequence], [1, true, last]);
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

Deno.test("Dashboard: a run's folder is served and exported by a process that may only read it", async () => {
  await withScratchFolder(async (folder) => {
    const { last } = await recordRun(folder);
    const shown = new IotaProcess(["dashboard", "--run", folder, "--port", "0", "--json"], {}, { ownSession: true });
    const { url } = await shown.lines.next("dashboard") as Line & { url: string };
    const { run, sequence } = await (await fetch(new URL("/api/v1/run", url))).json();
    assertEquals([run.step, sequence], [40, last]);
    assertEquals((await (await fetch(new URL("/api/v1/past?at=1", url))).json()).run.step, 0);
    assertEquals((await fetch(new URL("/metrics", url))).status, 404);
    shown.interruptAll();
    assertEquals((await shown.ended).code, 0);
    const file = `${folder}/run.html`;
    const { code, stderr } = await iota(["dashboard", "--run", folder, "--export", file, "--json"]);
    assertEquals(code, 0, stderr);
    assertMatch(await Deno.readTextFile(file), /<script type="application\/octet-stream" id="recording">/);
    const empty = await iota(["dashboard", "--run", `${folder}/none`]);
    assertEquals(empty.code, 1);
    assertMatch(empty.stderr, /records\.jsonl holds no record: it has none\nnext +Pass the folder/);
  });
});

const noScript = await hasScript() ? null : "no script(1), which lends a process a terminal";

testWhere(noScript, "Dashboard: in a terminal a swarm's page stays up after the run, until Enter", async () => {
  await withScratchFolder(async (folder) => {
    const command = [
      ...iotaCommand,
      "swarm",
      "--size",
      "toy",
      "--device",
      "cpu",
      "--steps",
      "4",
      "--data",
      folder,
    ];
    const swarm = new Deno.Command("script", {
      args: ["-qec", shellWords(command), "/dev/null"],
      stdin: "piped",
      stdout: "piped",
      env: { TERM: "xterm", CI: "" },
    }).spawn();
    let shown = "";
    let url: string | undefined;
    const keys = swarm.stdin.getWriter();
    for await (const text of swarm.stdout.pipeThrough(new TextDecoderStream())) {
      shown += text;
      if (url !== undefined) continue;
      url = /stays at (http:\S+) until/.exec(shown)?.[1];
      if (url === undefined) continue;
      const { run } = await (await fetch(new URL("/api/v1/run", url))).json();
      assertEquals([run.phase, run.step], ["finished", 4]);
      assertMatch(shown, /steps.* 4\r\n[^]*What next/); // the summary does not wait for the person
      await keys.write(new TextEncoder().encode("\r")); // Enter
    }
    assert(url !== undefined, shown);
    assertEquals((await swarm.status).code, 0);
    await keys.close().catch(() => "the terminal is gone");
  });
});

async function hasScript(): Promise<boolean> {
  const { success } = await new Deno.Command("script", { args: ["--version"] }).output().catch(() => ({
    success: false,
  }));
  return success;
}
