/** An orchestrator whose process may open few files, and an attacker who takes them all. */

import { assert, assertEquals, assertMatch } from "@std/assert";
import { AttackedHub, joinedMs, newcomer } from "../support/attack/attacked_hub.ts";
import { IotaProcess } from "../support/process/iota_process.ts";
import { withScratchFolder } from "../support/scratch_folder.ts";
import { Stranger } from "../support/attack/stranger.ts";

const descriptors = 96;

Deno.test("Attack: a port that ran out of descriptors says so, and takes a newcomer within 5 s of their return", async () => {
  const hub = await AttackedHub.start({ descriptors });
  const all: Stranger[] = [];
  try {
    for (let count = 0; count < 3 * descriptors; count++) {
      const stranger = new Stranger(hub);
      all.push(stranger);
      await stranger.opened; // the system takes those that the process cannot
    }
    const { text } = await hub.lines.next("notice");
    assertMatch(String(text), /has no free file descriptor; \d+ connections .* raise the limit \(ulimit -n/);
    await Promise.all(all.map((stranger) => stranger.leave()));
    const came = newcomer(hub, 1);
    await joinedMs(came, 5_000).finally(() => came.node.close("test over"));
  } finally {
    await Promise.all(all.map((stranger) => stranger.leave()));
    await hub.stop();
  }
});

Deno.test("Attack: an orchestrator that knows its descriptor limit keeps a reserve, and a newcomer still gets in", async () => {
  const hub = await AttackedHub.start({ descriptors: 2 * descriptors, knowsDescriptors: true });
  const all = new Set<Stranger>();
  let isOver = false;
  const come = () => {
    const stranger = new Stranger({ port: hub.port, from: "127.0.0.2" });
    all.add(stranger);
    stranger.closed.then(() => all.delete(stranger) && !isOver && come());
  };
  try {
    for (let count = 0; count < 4 * descriptors; count++) come();
    await Promise.all([...all].map((stranger) => stranger.opened));
    const came = newcomer(hub, 1);
    await joinedMs(came, 10_000).finally(() => came.node.close("test over"));
    assertEquals(hub.notices(), []);
  } finally {
    isOver = true;
    await Promise.all([...all].map((stranger) => stranger.leave()));
    await hub.stop();
  }
});

Deno.test("Attack: iota orchestrate learns how many files it may open, and keeps half of few for itself", () =>
  withScratchFolder(async (folder) => {
    const root = new URL("../..", import.meta.url).pathname;
    const program = `${folder}/iota`;
    const run =
      `exec "${Deno.execPath()}" run --quiet --no-prompt --config ${root}deno.json --allow-all ${root}cli/main.ts "$@"`;
    await Deno.writeTextFile(program, `#!/bin/sh\nulimit -n 300\n${run}\n`, { mode: 0o700 });
    const hub = new IotaProcess(
      ["orchestrate", "--size", "toy", "--port", "0", "--data", `${folder}/hub`, "--json"],
      {},
      {
        program,
      },
    );
    const all: Stranger[] = [];
    try {
      const port = Number(new URL(String((await hub.lines.next("listening"))["url"])).port);
      let answered = 0;
      for (let count = 0; count < 200; count++) {
        const stranger = new Stranger({ port });
        all.push(stranger);
        await stranger.opened;
        await stranger.send("GET /healthz HTTP/1.1\r\nHost: orchestrator\r\n\r\n");
        await stranger.hears("\r\n\r\n");
        if (stranger.received.includes(" 200 ")) answered++;
        else assert(stranger.received.includes(" 503 "), stranger.received);
      }
      const open = all.filter(({ isClosed }) => !isClosed).length;
      assert(answered >= 140 && answered < 200 && open <= 155, `${answered} were answered, ${open} are open`);
      assertEquals(hub.lines.all.filter(({ type }) => type === "warning"), []);
    } finally {
      await Promise.all(all.map((stranger) => stranger.leave()));
      hub.kill("SIGTERM");
      await hub.ended;
    }
  }));
