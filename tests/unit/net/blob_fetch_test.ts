/** Fetching from several sources: shared work, liars, failures, stalls, and the fallback that is spared. */

import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import type { BlobRef } from "../../../core/ids.ts";
import { fetchBlob } from "../../../net/blobs/blob_fetch.ts";
import { leafBytes, refOf } from "../../../net/blob_hash.ts";
import type { FetchSource, SourceProblem } from "../../../net/blobs/fetch_sources.ts";
import { assertProblem } from "../../conformance/blobs_suite.ts";
import { varied } from "../../support/net/varied_bytes.ts";
import { idle } from "../../support/idle.ts";
import { ManualTimers } from "../../support/net/manual_timers.ts";
import { prngOf } from "../../support/small_prng.ts";
import { type Conduct, ScriptedSource, sourceOf } from "../../support/net/scripted_source.ts";
import { cases } from "../../support/whole.ts";

const leaves = 16;
const bytes = varied((leaves - 1) * leafBytes + 777, 1);
const ref = refOf(bytes);

async function holding(conduct?: Conduct, content: Uint8Array = bytes): Promise<ScriptedSource> {
  const source = new ScriptedSource(conduct);
  await source.put(content);
  return source;
}

class Fetch {
  readonly timers = new ManualTimers();
  readonly problems: SourceProblem[] = [];

  run(
    sources: readonly FetchSource[],
    { wanted = ref, concurrency = 4 }: { wanted?: BlobRef; concurrency?: number } = {},
  ) {
    return fetchBlob({
      ref: wanted,
      sources,
      concurrency,
      blobBytes: 2 ** 30,
      timers: this.timers,
      onProblem: (problem) => this.problems.push(problem),
    });
  }

  get blamed(): string[] {
    return this.problems.map(({ source, code }) => `${source} ${code}`);
  }
}

Deno.test("Fetch: two honest sources share the leaves, each is sent once, and the fallback rests", async () => {
  const fetch = new Fetch();
  const [a, b, hub] = [await holding(), await holding(), await holding()];
  const got = await fetch.run([sourceOf("hub", hub, { isFallback: true }), sourceOf("a", a), sourceOf("b", b)]);
  assertEquals(refOf(got), ref);
  assertEquals([...a.sent, ...b.sent].sort((x, y) => x - y), Array.from({ length: leaves }, (_, leaf) => leaf));
  assert(Math.abs(a.sent.length - b.sent.length) <= 2, `a sent ${a.sent.length}, b sent ${b.sent.length}`);
  assertEquals([hub.sent, fetch.problems], [[], []]);
});

Deno.test("Fetch: one source alone is enough, also when it is the fallback", async () => {
  for (const isFallback of [true, false]) {
    const only = await holding();
    assertEquals(refOf(await new Fetch().run([sourceOf("only", only, { isFallback })])), ref);
    assertEquals(only.sent.length, leaves);
  }
});

Deno.test("Fetch: a wrong, short or long leaf is noticed, its sender is named and dropped", async () => {
  for (const how of ["lie", "short", "long"] as const) {
    const fetch = new Fetch();
    const liar = await holding(({ leaf }) => leaf === 6 || leaf === 7 ? how : "honest");
    const honest = await holding();
    const got = await fetch.run([sourceOf("liar", liar), sourceOf("honest", honest)], { concurrency: 2 });
    assertEquals(refOf(got), ref);
    assertEquals(fetch.blamed, ["liar wrongHash"], how);
    assert(liar.sent.length < 6, "nothing more is asked of the liar");
  }
});

Deno.test("Fetch: a source that dies midway is dropped and the rest comes from the others", async () => {
  const fetch = new Fetch();
  const dying = await holding(({ count }) => count >= 3 ? "fail" : "honest");
  const hub = await holding();
  const got = await fetch.run([sourceOf("dying", dying), sourceOf("hub", hub, { isFallback: true })]);
  assertEquals(refOf(got), ref);
  assertEquals(fetch.blamed, ["dying unreachable"]);
  assertEquals(dying.sent.length + hub.sent.length, leaves + 4, "the answers pending at the dying one, once more");
});

Deno.test("Fetch: when all sources lie, fail or lack it, the error says which did what", async () => {
  const fetch = new Fetch();
  const [a, b] = [await holding(() => "lie"), await holding(() => "lie")];
  const message = await assertProblem(() => fetch.run([sourceOf("a", a), sourceOf("b", b)]), "wrongHash");
  assertStringIncludes(message, "a: Cannot read blob");
  assertEquals(fetch.blamed, ["a wrongHash", "b wrongHash"]);
  const failing = await holding(() => "fail");
  await assertProblem(() => new Fetch().run([sourceOf("failing", failing)]), "unreachable");
  await assertProblem(() => new Fetch().run([sourceOf("empty", new ScriptedSource())]), "missing");
});

Deno.test("Fetch: a leaf list of another blob or order is not believed", async () => {
  const fetch = new Fetch();
  const liar = await holding();
  liar.liesAboutLeaves = true;
  const got = await fetch.run([sourceOf("liar", liar), sourceOf("hub", await holding(), { isFallback: true })]);
  assertEquals(refOf(got), ref);
  assertEquals(fetch.blamed, ["liar wrongHash"]);
  assertEquals(liar.sent, []);
});

Deno.test("Fetch: a reference with another size is refused by every source", async () => {
  const fetch = new Fetch();
  const source = sourceOf("a", await holding());
  await assertProblem(() => fetch.run([source], { wanted: { ...ref, bytes: ref.bytes + 1 } }), "wrongHash");
  await assertProblem(() => fetch.run([source], { wanted: { ...ref, bytes: 2 ** 40 } }), "tooLarge");
});

Deno.test("Fetch: a stalled leaf is asked of another source too, and the staller is named", async () => {
  const fetch = new Fetch();
  const staller = await holding(({ count }) => count >= 2 ? "stall" : "honest");
  const good = await holding();
  const got = fetch.run([sourceOf("staller", staller), sourceOf("good", good)]);
  await idle();
  const stalled = staller.sent.slice(2);
  assert(stalled.length > 0 && stalled.every((leaf) => !good.sent.includes(leaf)), "nobody else was asked yet");
  fetch.timers.advance(500);
  assertEquals(refOf(await got), ref);
  assertEquals(fetch.blamed, ["staller slow"]);
  assertEquals(good.sent.slice(-stalled.length).toSorted(), stalled.toSorted());
});

Deno.test("Fetch: the fallback helps when the only peer stalls, before and after the leaf list", async () => {
  const late = await holding(() => "stall");
  const silent = await holding();
  silent.stallsFirst = true;
  for (const peer of [late, silent]) {
    const fetch = new Fetch();
    const hub = await holding();
    const got = fetch.run([sourceOf("peer", peer), sourceOf("hub", hub, { isFallback: true })]);
    await idle();
    assertEquals(hub.sent, []);
    fetch.timers.advance(5_000); // for the leaf list
    await idle();
    fetch.timers.advance(10_000); // for the first leaf, which has no median to be measured by
    await idle();
    fetch.timers.advance(500);
    assertEquals(refOf(await got), ref);
    assert(fetch.blamed.includes("peer slow"), fetch.blamed.join());
  }
});

Deno.test("Fetch: nothing is written to the blob once it is handed out", async () => {
  const fetch = new Fetch();
  let wake = (_chunk: Uint8Array) => {};
  const staller = await holding();
  staller.open = () =>
    Promise.resolve(new ReadableStream({ start: (controller) => wake = (chunk) => controller.enqueue(chunk) }));
  const hub = await holding();
  const got = fetch.run([sourceOf("staller", staller), sourceOf("hub", hub, { isFallback: true })], { concurrency: 1 });
  await idle();
  fetch.timers.advance(10_000);
  const whole = await got;
  assertThrows(() => wake(new Uint8Array(1000).fill(255)), TypeError); // the stream is cancelled
  await idle();
  assertEquals(refOf(whole), ref);
});

Deno.test("Fetch: a small blob comes whole from the first that has it in good order", async () => {
  const small = varied(5_000, 3);
  const lying = await holding(() => "lie", small);
  const stalling = await holding(undefined, small);
  stalling.stallsFirst = true;
  const fetch = new Fetch();
  const sources = [
    sourceOf("hub", await holding(undefined, small), { isFallback: true }),
    sourceOf("empty", new ScriptedSource()),
    sourceOf("lying", lying),
    sourceOf("stalling", stalling),
  ];
  const got = fetch.run(sources, { wanted: refOf(small) });
  await idle();
  fetch.timers.advance(5_000);
  assertEquals(await got, small);
  assertEquals(fetch.blamed, ["empty missing", "lying wrongHash", "stalling slow"]);
});

Deno.test("Fetch: random swarms of liars, failures and stalls, each with one honest source, always end with the blob", async () => {
  const sized = varied(6 * leafBytes + 1, 5);
  const honest = await holding(undefined, sized);
  for (let seed = 1; seed <= cases(150); seed++) {
    const below = prngOf(seed);
    const conducts = ["honest", "honest", "honest", "lie", "short", "long", "fail", "stall"] as const;
    const sources = await Promise.all(Array.from({ length: below(4) }, async (_, index) => {
      const source = await holding(() => conducts[below(conducts.length)]!, sized);
      source.liesAboutLeaves = below(6) === 0;
      source.stallsFirst = below(6) === 0;
      return sourceOf(`peer ${index}`, source);
    }));
    const fetch = new Fetch();
    const hub = sourceOf("hub", honest, { isFallback: true });
    let isOver = false;
    const got = fetch.run([...sources, hub], { wanted: refOf(sized), concurrency: 1 + below(6) });
    got.finally(() => isOver = true);
    for (let turn = 0; !isOver; turn++) {
      assert(turn < 100, `seed ${seed} hangs: ${fetch.blamed.join()}`);
      await idle();
      fetch.timers.advance(10_000);
    }
    assertEquals(refOf(await got), refOf(sized), `seed ${seed}`);
    assert(!fetch.problems.some(({ source, code }) => source === "hub" && code !== "slow"), `seed ${seed}`);
  }
});
