/** Headers and paths as strangers might send them, from seeds: every answer is one that we meant to give. */

import { assert, assertEquals } from "@std/assert";
import { leafBytes } from "../../../net/blob_hash.ts";
import { emptyBodyHash } from "../../../net/auth/signed_headers.ts";
import { prngOf } from "../../support/small_prng.ts";
import { withScratchFolder } from "../../support/scratch_folder.ts";
import { UploadWorld } from "../../support/net/upload_world.ts";
import { varied } from "../../support/net/varied_bytes.ts";
import { cases } from "../../support/whole.ts";

type Below = (below: number) => number;

const bytes = varied(leafBytes + 3_000, 1);
const small = varied(700, 2);
const meant = new Set([200, 201, 204, 206, 400, 401, 404, 409, 413, 416, 422, 507]);

const numbers = ["0", "1", "699", "700", "701", "1048576", "1051575", "1051576", "999999999999999", "1e3", "-1", "+5"];
const oddities = [
  "",
  " ",
  "0x10",
  "NaN",
  "Infinity",
  "９",
  "1".repeat(16),
  "1".repeat(400),
  "007",
  "?1",
  "null",
  "1,2",
];

const pick = <T>(below: Below, choices: readonly T[]): T => choices[below(choices.length)]!;
const count = (below: Below): string => below(3) === 0 ? pick(below, oddities) : pick(below, numbers);

function range(below: Below): string {
  const odd = ["bytes=", "bytes=-", "bytes=-5", "lines=0-5", "bytes=0-1,4-5", "bytes 0-5", "bytes=5-4", "BYTES=0-1"];
  return below(3) === 0 ? pick(below, odd) : `bytes=${count(below)}-${count(below)}`;
}

/** Header values that HTTP itself would not carry are left out. */
function sendable(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([, value]) => /^[\x20-\x7e]*$/.test(value)));
}

Deno.test("Blob routes: random requests get intended answers, and the blobs stay unchanged", () =>
  withScratchFolder(async (folder) => {
    const hub = await UploadWorld.open(folder, { blobBytes: 2_000_000, uploadBytes: 3_000_000 });
    const { world, store } = hub;
    const refs = [await store.put(bytes), await store.put(small)];
    const content = [bytes, small];
    const names = [...refs.map(({ hash }) => hash as string), "0".repeat(64), "ab".repeat(32)];
    const odd = ["A".repeat(64), "0".repeat(63), "0".repeat(65), "..%2f..%2fetc", "%00", "%ff".repeat(64), ""];
    const authorize = world.authorize();
    for (let seed = 1; seed <= cases(1500); seed++) {
      const below = prngOf(seed);
      const name = below(8) === 0 ? pick(below, odd) : pick(below, names);
      const path = `/blobs/${name}${pick(below, ["", "", "", "/leaves", "/upload", "/other", "?x=1", "/"])}`;
      const method = pick(below, ["GET", "GET", "HEAD", "PUT", "PATCH", "PATCH", "DELETE", "POST"]);
      const writes = method !== "GET" && method !== "HEAD";
      const headers = sendable({
        ...below(20) === 0
          ? {}
          : authorize({ method, target: path, bodyHash: /^P(UT|ATCH)$/.test(method) ? name : emptyBodyHash }),
        ...below(2) === 0 ? { range: range(below) } : {},
        ...below(4) > 0 ? { "upload-offset": count(below) } : {},
        ...below(2) === 0 ? { "upload-complete": pick(below, ["?1", "?0", "true", "", "1"]) } : {},
        ...below(4) === 0 ? { "content-length": count(below) } : {},
      });
      const body = writes ? { body: varied(pick(below, [0, 1, 700, 5000]), 2) } : {};
      const response = await world.app.request(path, { method, headers, ...body });
      const told = `seed ${seed}: ${method} ${path} ${JSON.stringify(headers)} gave ${response.status}`;
      assert(meant.has(response.status), told);
      const answer = new Uint8Array(await response.arrayBuffer());
      if (response.status >= 400 && method !== "HEAD" && response.headers.get("content-type")?.includes("json")) {
        assert(typeof JSON.parse(new TextDecoder().decode(answer)).detail === "string", told);
      }
      const known = names.indexOf(name);
      if (response.status === 206) {
        const [, start, end] = /^bytes (\d+)-(\d+)\//.exec(response.headers.get("content-range")!)!.map(Number);
        if (method === "GET") assertEquals(answer, content[known]!.subarray(start, end! + 1), told);
      }
    }
    for (const [index, { hash }] of refs.entries()) assertEquals(await store.get(hash), content[index]);
    assertEquals(store.usage().blobs, 2);
    assertEquals(world.errors, []);
    await hub.stop();
  }));
