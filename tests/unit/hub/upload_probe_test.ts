/** The orchestrator's upload to its own public address. */

import { assertEquals, assertStringIncludes } from "@std/assert";
import { probeUpload } from "../../../cli/roles/upload_probe.ts";
import type { BlobHash } from "../../../core/ids.ts";
import { MemoryBlobs } from "../../../net/blobs/blob_memory.ts";
import { systemRandom } from "../../../net/timers.ts";
import { BlobWorld } from "../../support/net/blob_world.ts";

const blobBytes = 1_000_000;

async function probe(answer: "pass" | number | "none") {
  const store = new MemoryBlobs({ blobBytes, capacityBytes: 4 * blobBytes });
  const world = new BlobWorld({ store, blobBytes });
  const remote = world.client({
    attempts: 1,
    fetch: async (url: string, init: RequestInit) => {
      if (answer === "none") throw new TypeError("no route");
      return answer === "pass" ? await world.app.request(url, init) : new Response("<html>", { status: answer });
    },
  });
  const stored: number[] = [];
  const forget = async (hash: BlobHash) => {
    stored.push((await store.find(hash))?.bytes ?? 0);
    await store.delete(hash);
  };
  const options = { url: "https://run.example", remote, forget, mostBytes: 300_000, random: systemRandom };
  return { refusal: await probeUpload(options, 800_000), stored, left: store.usage().bytes };
}

Deno.test("Upload probe: an upload that arrives is no larger than a request, and is deleted", async () => {
  assertEquals(await probe("pass"), { refusal: null, stored: [300_000], left: 0 });
});

Deno.test("Upload probe: a proxy's refusal names the address, the status, the size and what to change", async () => {
  const { refusal } = await probe(413);
  assertStringIncludes(refusal ?? "", "https://run.example answers 413");
  assertStringIncludes(refusal ?? "", "300,000 bytes");
  assertStringIncludes(refusal ?? "", "client_max_body_size");
  assertStringIncludes((await probe(403)).refusal ?? "", "PUT and PATCH");
});

Deno.test("Upload probe: an address that cannot be reached from here says nothing about nodes elsewhere", async () => {
  assertEquals((await probe("none")).refusal, null);
});
