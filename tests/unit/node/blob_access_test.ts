/** Blobs by reference: from the store alone, or from other nodes with the store behind them. */

import { assertEquals } from "@std/assert";
import { blobAccess, type PeerAccess, peerUrl } from "../../../cli/roles/blob_access.ts";
import { nodeId } from "../../../core/ids.ts";
import type { Peer } from "../../../core/protocol/message.ts";
import { leafBytes, refOf } from "../../../net/blob_hash.ts";
import type { SourceProblem } from "../../../net/blobs/fetch_sources.ts";
import { ManualTimers } from "../../support/net/manual_timers.ts";
import { ScriptedSource } from "../../support/net/scripted_source.ts";
import { varied } from "../../support/net/varied_bytes.ts";

const bytes = varied(5 * leafBytes + 1, 1);
const ref = refOf(bytes);

const at = (url: string, node = "5Peer"): Peer => ({ node: nodeId(node), url, pass: null });

async function open(names: readonly string[], liars: readonly string[] = []) {
  const stores = new Map<string, ScriptedSource>();
  for (const name of ["hub", ...names]) {
    const store = new ScriptedSource(() => liars.includes(name) ? "lie" : "honest");
    await store.put(bytes);
    stores.set(name, store);
  }
  const opened: string[] = [];
  const signedFor: string[] = [];
  const problems: SourceProblem[] = [];
  const access: PeerAccess = {
    open: ({ node, url }) => {
      opened.push(url);
      signedFor.push(node);
      return stores.get(url) ?? new ScriptedSource();
    },
    blobBytes: 2 ** 30,
    timers: new ManualTimers(),
    onProblem: (problem) => problems.push(problem),
  };
  return { blobs: blobAccess(stores.get("hub")!, access), stores, opened, signedFor, problems };
}

Deno.test("Blob access: without peers the store alone is asked", async () => {
  const { blobs, opened } = await open([]);
  assertEquals(await blobs.get(ref), bytes);
  assertEquals(await blobs.get(ref, { peers: [] }), bytes);
  assertEquals(opened, []);
});

Deno.test("Blob access: peers serve, each opened once, and the orchestrator rests", async () => {
  const { blobs, stores, opened, signedFor } = await open(["http://a:1", "https://b"]);
  for (let time = 0; time < 2; time++) {
    assertEquals(await blobs.get(ref, { peers: [at("http://a:1/"), at("https://b/x?y"), at("http://a:1")] }), bytes);
  }
  assertEquals(opened, ["http://a:1", "https://b"]);
  assertEquals(stores.get("hub")!.sent, []);
  await blobs.get(ref, { peers: [at("http://a:1", "5Other")] }); // another hotkey at the same address
  assertEquals(signedFor, ["5Peer", "5Peer", "5Other"]);
});

Deno.test("Blob access: lying and empty peers cost nothing but a report, the orchestrator has the rest", async () => {
  const { blobs, problems } = await open(["http://liar"], ["http://liar"]);
  assertEquals(
    await blobs.get(ref, { peers: [at("http://empty"), at("http://liar"), at("file:///etc/passwd")] }),
    bytes,
  );
  assertEquals(problems.map(({ source, code }) => `${source} ${code}`), [
    "http://empty missing",
    "http://liar wrongHash",
  ]);
});

Deno.test("Blob access: a peer's address is reduced to its origin, and others are not asked", () => {
  assertEquals(peerUrl("http://10.0.0.1:9010/blobs?x#y"), "http://10.0.0.1:9010");
  for (const odd of ["", "10.0.0.1:9010", "ws://a", "file:///x", "http://user:secret@a", "javascript:1", "http://"]) {
    assertEquals(peerUrl(odd), null, odd);
  }
});
