/** `/api/v1/run` and `/events`: what is public, and that followers, slow ones and many of them, cost the run little. */

import { assert, assertEquals, assertMatch } from "@std/assert";
import { withChanges } from "../../../cli/observe/dashboard/page/run_state.ts";
import type { RunSnapshot } from "../../../cli/observe/public/public_shape.ts";
import { nodeId } from "../../../core/ids.ts";
import type { ViewRecord } from "../../../core/view/view_record.ts";
import { anyRecord } from "../../support/any_record.ts";
import { sampleMiners, sampleRun } from "../../support/sample_run.ts";
import { type ServedRun, servedRun } from "../../support/served_run.ts";
import { prngOf } from "../../support/small_prng.ts";

interface ReadEvent {
  readonly id: string;
  readonly name: string;
  readonly data: string;
}

/** Reads a stream as a browser does. */
class Viewer {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  state: RunSnapshot | null = null;
  lastId = "";
  bytes = 0;

  constructor(response: Response) {
    assertEquals([response.status, response.headers.get("content-type")], [200, "text/event-stream; charset=utf-8"]);
    this.#reader = response.body!.getReader();
  }

  /** The events of the next chunk; null at the end. */
  async next(): Promise<ReadEvent[] | null> {
    const { done, value } = await this.#reader.read();
    if (done) return null;
    this.bytes += value.length;
    const events = eventsOf(new TextDecoder().decode(value));
    for (const { id, name, data } of events) {
      this.lastId = id;
      if (name === "snapshot") this.state = JSON.parse(data);
      else this.state = withChanges(this.state!, JSON.parse(data));
    }
    return events;
  }

  leave(): Promise<void> {
    return this.#reader.cancel();
  }
}

function eventsOf(text: string): ReadEvent[] {
  return text.split("\n\n").slice(0, -1).filter((block) => block.startsWith("id: ")).map((block) => {
    const lines = block.split("\n");
    assertEquals(lines.map((line) => line.slice(0, line.indexOf(":"))), ["id", "event", "data"]);
    const [id, name, data] = lines.map((line) => line.slice(line.indexOf(": ") + 2));
    return { id: id!, name: name!, data: data! };
  });
}

const turnMs = 500;
const api = async (run: ServedRun): Promise<RunSnapshot> => await (await run.get("/api/v1/run")).json();
const tellAll = (run: ServedRun, records: readonly { record: ViewRecord }[]) => {
  for (const { record } of records) run.tell(record);
};

Deno.test("API: the run as JSON has its numbers, members and curves", async () => {
  const run = servedRun();
  tellAll(run, sampleRun(40));
  run.timers.advance(turnMs);
  const { version, run: shown, members } = await api(run);
  assertEquals([version, shown.name, shown.step, shown.steps, shown.memberCount], [1, "demo", 40, 40, 6]);
  assertEquals([shown.losses.values.length, shown.losses.stride, shown.losses.last], [40, 1, run.view.lossLast]);
  assertEquals(shown.heldOut.map(({ step }) => step), [10, 20, 30, 40]);
  assertEquals(members[sampleMiners[0]!], { role: "miner", state: "ready", stage: 0, loading: null, tasks: 160 });
});

Deno.test("API: no path, text of a warning, device or text about a node's own machine is public", async () => {
  const secret = "/secret/of/this/machine";
  const run = servedRun({ facts: { device: secret } });
  const node = sampleMiners[0]!;
  const records = [
    { type: "warning", text: secret },
    { type: "noted", label: "x", text: secret },
    { type: "runPaused", text: secret },
    { type: "checkpointWritten", round: 1, step: 10, folder: secret },
    { type: "nodeLost", node, reason: secret, tasksReissued: 1, tasksKept: 0 },
    { type: "faultSeen", node, code: "malformedMessage", detail: secret },
    { type: "blamed", node, code: "withheld", detail: secret },
    { type: "runFinished", step: 1, finished: false, reason: secret },
    { type: "nodeJoined", node, role: "miner", adapter: secret },
    { type: "taskReleased", task: "1.0.forward.0" as never, node, reason: secret },
  ] as const;
  for (const record of records) {
    run.tell(record);
    run.timers.advance(turnMs);
    const text = await (await run.get("/api/v1/run")).text();
    assert(!text.includes("secret"), `${record.type}: ${text}`);
    const metrics = await (await run.get("/metrics")).text();
    assert(!metrics.includes("secret"), record.type);
  }
});

Deno.test("Events: a snapshot, then changes that lead to what the API says, whatever the records are", async () => {
  for (let seed = 1; seed <= 10; seed++) {
    const run = servedRun();
    const pick = prngOf(seed);
    const viewer = new Viewer(await run.get("/events"));
    assertEquals((await viewer.next())!.map(({ name }) => name), ["snapshot"]);
    for (let turn = 0; turn < 12; turn++) {
      for (let i = 0; i < 30; i++) run.tell(anyRecord(pick));
      run.timers.advance(turnMs);
      const events = (await viewer.next())!;
      assertEquals(events.map(({ name }) => name), ["changes"]);
      const { run: now, members } = await api(run);
      assertEquals({ ...viewer.state!.run, remainingMs: 0 }, { ...now, remainingMs: 0 }, `seed ${seed}`);
      assertEquals(viewer.state!.members, members, `seed ${seed}`);
    }
    run.close();
    assertEquals(await viewer.next(), null);
  }
});

Deno.test("Events: a thousand records between two turns are one event, no larger than a snapshot", async () => {
  const run = servedRun();
  const viewer = new Viewer(await run.get("/events"));
  await viewer.next();
  const records = sampleRun(40);
  assert(records.length > 800);
  tellAll(run, records);
  run.timers.advance(turnMs);
  const [event, ...others] = (await viewer.next())!;
  assertEquals([event!.name, others.length], ["changes", 0]);
  assert(event!.data.length <= (await (await run.get("/api/v1/run")).text()).length);
  run.close();
});

Deno.test("Events: who does not read gets one snapshot when it reads again, and nothing waits for it", async () => {
  const run = servedRun();
  const response = await run.get("/events");
  const step = (count: number) => {
    tellAll(run, sampleRun(40).filter(({ record }) => record.type === "stepClosed").slice(count, count + 1));
    run.timers.advance(turnMs);
  };
  for (let i = 0; i < 14; i++) step(i);
  const viewer = new Viewer(response);
  assertEquals((await viewer.next())!.map(({ name }) => name), ["snapshot"]); // the first one
  assertEquals(viewer.state!.run.step, 0);
  const again = (await viewer.next())!;
  assertEquals(again.map(({ name }) => name), ["snapshot"]);
  assertEquals(viewer.state!.run.step, 14);
  step(14);
  assertEquals((await viewer.next())!.map(({ name }) => name), ["changes"]);
  assertEquals(viewer.state!.run.step, 15);
  run.close();
});

Deno.test("Events: a stream ends before the port closes it; who comes back gets only what it missed", async () => {
  const run = servedRun();
  const [first, second] = sampleRun(2).filter(({ record }) => record.type === "stepClosed");
  const before = new Viewer(await run.get("/events"));
  await before.next();
  run.tell(first!.record);
  run.timers.advance(turnMs);
  await before.next();
  run.timers.advance(8_000 - turnMs);
  assertEquals(await before.next(), null);
  run.tell(second!.record); // while nobody follows
  run.timers.advance(turnMs);
  const after = new Viewer(await run.get("/events", { "last-event-id": before.lastId }));
  after.state = before.state;
  assertEquals((await after.next())!.map(({ name }) => name), ["changes"]);
  assertEquals(after.state!.run.step, 2);
  for (const id of ["", "x", "1-2-3", "-1", `${after.lastId}9`, "NaN-NaN", "9".repeat(400)]) {
    const other = new Viewer(await run.get("/events", { "last-event-id": id }));
    assertEquals((await other.next())!.map(({ name }) => name), ["snapshot"], id);
    await other.leave();
  }
  run.close();
});

Deno.test("Events: there are 64 places, a full house says so, and a viewer that leaves or a HEAD takes none", async () => {
  const run = servedRun();
  const viewers = await Promise.all(Array.from({ length: 64 }, async () => new Viewer(await run.get("/events"))));
  const refused = await run.get("/events");
  assertEquals([refused.status, refused.headers.get("retry-after")], [503, "5"]);
  const { code, detail } = await refused.json();
  assertEquals(code, "limitExceeded");
  assertMatch(detail, /64 viewers follow it already/);
  await viewers[0]!.leave();
  for (let i = 0; i < 100; i++) assertEquals((await run.get("/events", {}, "HEAD")).body, null);
  const late = new Viewer(await run.get("/events"));
  assertEquals((await late.next())!.length, 1);
  run.close();
  assertEquals(await late.next(), null);
  assertEquals((await run.get("/events")).status, 503);
});

Deno.test("Events: one address cannot keep others out, and gives up its oldest places only to those with fewer", async () => {
  const run = servedRun();
  const from = async (origin: string) => await run.get("/events", {}, "GET", "", origin);
  const greedy = await Promise.all(Array.from({ length: 64 }, async () => new Viewer(await from("10.0.0.1"))));
  for (const viewer of greedy) await viewer.next();
  assertEquals((await from("10.0.0.1")).status, 503);
  const others = await Promise.all(Array.from({ length: 32 }, async () => new Viewer(await from("10.0.0.2"))));
  for (const viewer of others) assertEquals((await viewer.next())!.length, 1);
  assertEquals((await from("10.0.0.2")).status, 503); // 32 each
  assertEquals(await greedy[31]!.next(), null);
  const third = new Viewer(await from("10.0.0.3"));
  assertEquals((await third.next())!.length, 1);
  run.close();
});

Deno.test("Events: however often pages are asked for, the run is looked at twice a second", async () => {
  const run = servedRun();
  tellAll(run, sampleRun(3));
  run.timers.advance(turnMs);
  let looks = 0;
  const { nodes } = run.view;
  Object.defineProperty(run.view, "nodes", { get: () => (looks++, nodes), configurable: true });
  await run.get("/api/v1/run");
  const once = looks;
  assert(once > 0);
  for (let i = 0; i < 50; i++) {
    await run.get("/api/v1/run");
    await (await run.get("/events")).body!.cancel();
  }
  assertEquals(looks, once);
  run.timers.advance(turnMs);
  await run.get("/api/v1/run");
  assert(looks <= 3 * once);
  run.close();
});

Deno.test("Events: a thousand busy members cost each viewer at most 64 KiB a second", async () => {
  const run = servedRun();
  const { record } = sampleRun(1).find(({ record }) => record.type === "taskFinished")!;
  const work = () => {
    for (let i = 0; i < 1_000; i++) run.tell({ ...record, node: nodeId(`5Miner${i}`.padEnd(48, "x")) } as ViewRecord);
  };
  const viewer = new Viewer(await run.get("/events"));
  await viewer.next();
  viewer.bytes = 0;
  const pending = (async () => {
    while (await viewer.next() !== null);
  })();
  for (let ms = 0; ms < 8_000; ms += 100) {
    work();
    run.timers.advance(100);
    await Promise.resolve();
  }
  run.close();
  await pending;
  const lastBytes = (await (await run.get("/api/v1/run")).text()).length; // the first and the last changes have not waited
  assert(viewer.bytes > 2 * lastBytes, `${viewer.bytes} bytes`);
  assert(viewer.bytes <= 8 * 64 * 1024 + 2 * lastBytes, `${viewer.bytes} bytes`);
});
