/**
 * `iota orchestrate` as a process, and strangers with bad hellos: they cost the run a counter, not events, records or
 * disk.
 */

import { assert, assertEquals, assertMatch } from "@std/assert";
import { encodeFrame } from "../../net/messages/frame.ts";
import { IotaProcess } from "../support/process/iota_process.ts";
import { withScratchFolder } from "../support/scratch_folder.ts";
import { messageHead, Stranger } from "../support/attack/stranger.ts";

const badHellos = 200;
const earlierHellos = 100; // in whose time the orchestrator's own first entry gets into the journal

/** But for the record log, which has the warning. */
async function bytesBelow(folder: string): Promise<number> {
  let bytes = 0;
  for await (const entry of Deno.readDir(folder)) {
    if (entry.name === "records.jsonl") continue;
    const path = `${folder}/${entry.name}`;
    if (entry.name.startsWith("ledger")) continue; // its opening line is written a moment later
    bytes += entry.isDirectory ? await bytesBelow(path) : (await Deno.stat(path)).size;
  }
  return bytes;
}

Deno.test("Attack: 200 bad hellos are one warning and a number in /status, and nothing in the journal", () =>
  withScratchFolder(async (folder) => {
    const hub = new IotaProcess(["orchestrate", "--size", "toy", "--port", "0", "--data", `${folder}/hub`, "--json"]);
    try {
      const { url } = await hub.lines.next("listening");
      const port = Number(new URL(String(url)).port);
      let before = NaN;
      const hello = encodeFrame({ header: { type: "hello", protocol: 1 } });
      for (let count = 0; count < earlierHellos + badHellos; count++) {
        if (count === earlierHellos) before = await bytesBelow(`${folder}/hub`);
        const stranger = new Stranger({ port });
        assert(await stranger.upgrade());
        await stranger.send(messageHead(hello.length));
        await stranger.send(hello);
        assert(await stranger.hears("refusal"));
        await stranger.leave();
      }
      const total = earlierHellos + badHellos;
      const status = await (await fetch(`http://127.0.0.1:${port}/status`)).json();
      assertEquals(status.refused, { total, byCode: { versionMismatch: total } });
      const warnings = hub.lines.all.filter(({ type }) => type === "warning");
      assertEquals(warnings.length, 1);
      assertMatch(
        String(warnings[0]!["text"]),
        /1 with another protocol version \(1 in all\); a refused node logs the reason/,
      );
      assertEquals(hub.lines.all.filter(({ type }) => type === "faultSeen"), []);
      assertEquals(await bytesBelow(`${folder}/hub`), before, "bytes on disk");
    } finally {
      hub.kill("SIGTERM");
      await hub.ended;
    }
    const records = (await Deno.readTextFile(`${folder}/hub/records.jsonl`)).trimEnd().split("\n");
    assertEquals(records.map((line) => JSON.parse(line).record.type), [
      "opened",
      "takenUp",
      "warning",
      "runFinished",
      "bytesMoved",
    ]);
    const ledger = (await Deno.readTextFile(`${folder}/hub/ledger.jsonl`)).trimEnd().split("\n");
    assertEquals(ledger.map((line) => JSON.parse(line).entry?.type ?? "signature"), ["begun", "ended", "signature"]);
  }));
