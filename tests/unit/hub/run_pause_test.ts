/** What waits for room on a full disk and what does not, and how often it is tried again. */

import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import type { RunRecord } from "../../../core/protocol/record.ts";
import { isDiskFull, JournalError, probeRoom } from "../../../cli/files/journal_error.ts";
import { RunPause } from "../../../cli/orchestrator/hub/run_pause.ts";
import { BlobError } from "../../../net/blobs/blobs.ts";
import { ManualTimers } from "../../support/net/manual_timers.ts";
import { withScratchFolder } from "../../support/scratch_folder.ts";
import { noRoom } from "../../support/swarm/stored_swarm.ts";

class World {
  readonly timers = new ManualTimers();
  readonly records: RunRecord[] = [];
  readonly calls: string[] = [];
  hasRoom = false;
  readonly pause: RunPause = new RunPause({
    timers: this.timers,
    driver: { hold: () => this.calls.push("hold"), resume: () => this.calls.push("resume") },
    onRecord: (record) => this.records.push(record),
    probeRoom: () => this.hasRoom ? Promise.resolve() : Promise.reject(noRoom()),
  });

  async advance(durationMs: number): Promise<void> {
    const settle = async () => {
      for (let turn = 0; turn < 10; turn++) await Promise.resolve();
    };
    await settle();
    for (let passedMs = 0; passedMs < durationMs; passedMs += 500) {
      this.timers.advance(500);
      await settle();
    }
  }
}

const need = { what: "a test", bytes: 3_000_000 };

Deno.test("Pause: work without room is tried ever more rarely, and its outcome comes when there is some", async () => {
  const world = new World();
  const attempts: number[] = [];
  const startMs = world.timers.steadyMs();
  const outcome = world.pause.work(need, () => {
    attempts.push(world.timers.steadyMs() - startMs);
    return world.hasRoom ? Promise.resolve("done") : Promise.reject(noRoom());
  });
  await world.advance(120_000);
  assertEquals(attempts.slice(0, 8), [0, 1_000, 3_000, 7_000, 15_000, 31_000, 61_000, 91_000]);
  assert(world.pause.isFull);
  world.hasRoom = true;
  await world.advance(30_000);
  assertEquals([await outcome, world.calls, world.pause.isFull], ["done", ["hold", "resume"], false]);
  const [paused, continued] = world.records;
  assert(paused?.type === "runPaused" && continued?.type === "runContinued" && continued.pausedMs >= 120_000);
  assertEquals(
    paused.text,
    "The run is paused as a test needs about 3 MiB and the disk is full: make room and it continues by itself " +
      "(No space left on device (os error 28))",
  );
});

Deno.test("Pause: several that wait make one pause, which ends with the last of them", async () => {
  const world = new World();
  let isFirstOver = false;
  const attempt = (hasRoom: () => boolean) => () => hasRoom() ? Promise.resolve() : Promise.reject(noRoom());
  const both = [
    world.pause.work(need, attempt(() => isFirstOver)),
    world.pause.work(need, attempt(() => world.hasRoom)),
  ];
  await world.advance(5_000);
  isFirstOver = true;
  await world.advance(40_000);
  assertEquals([world.calls, world.records.length], [["hold"], 1]);
  world.hasRoom = true;
  await world.advance(40_000);
  await Promise.all(both);
  assertEquals([world.calls, world.records.length], [["hold", "resume"], 2]);
});

Deno.test("Pause: an entry of the journal is durable at once where there is room, and later where there is none", async () => {
  const world = new World();
  assertEquals(world.pause.commit(() => {}), undefined);
  const full = () => {
    if (!world.hasRoom) throw new JournalError("noSpace", "the disk is full");
  };
  const waiting = world.pause.commit(full);
  assert(waiting instanceof Promise);
  world.hasRoom = true;
  await world.advance(1_000);
  await waiting;
  assertEquals(world.calls, ["hold", "resume"]);
});

Deno.test("Pause: entries that come while one waits for room are written after it, in their order", async () => {
  const world = new World();
  const written: string[] = [];
  const attemptOf = (name: string, isAsync: boolean) => () => {
    if (world.hasRoom) written.push(name);
    else if (isAsync) return Promise.reject(new JournalError("noSpace", name));
    else throw new JournalError("noSpace", name);
  };
  const names = ["a", "b", "c", "d"];
  const waiting = names.map((name, i) => world.pause.commit(attemptOf(name, i % 2 === 1)));
  await world.advance(10_000);
  assertEquals([world.calls, written], [["hold"], []]);
  world.hasRoom = true;
  await world.advance(20_000);
  await Promise.all(waiting);
  assertEquals([written, world.calls], [names, ["hold", "resume"]]);
  assertEquals(world.pause.commit(() => {}), undefined, "and then at once again");
});

Deno.test("Pause: SQLite's own word for a quota is looked into; any other trouble is passed on", async () => {
  const world = new World();
  const broken = new JournalError("storage", "disk I/O error");
  const waiting = world.pause.commit(() => {
    if (!world.hasRoom) throw broken;
  });
  await world.advance(500);
  assertEquals(world.calls, ["hold"], "nothing else can be written either");
  world.hasRoom = true;
  await world.advance(2_000);
  await waiting;
  const other = new World();
  other.hasRoom = true;
  const failing = other.pause.commit(() => {
    throw broken;
  });
  assertEquals(await failing?.then(() => null, (error) => error), broken);
  for (const code of ["damaged", "tooLarge", "locked"] as const) {
    const error = new JournalError(code, code);
    const thrown = () => {
      throw error;
    };
    assertThrows(() => other.pause.commit(thrown), JournalError, code);
  }
  await assertRejects(() => other.pause.work(need, () => Promise.reject(new Error("a bug"))), Error, "a bug");
  assertEquals([other.calls, other.records], [[], []]);
});

Deno.test("Pause: closed, nothing is tried any more", async () => {
  const world = new World();
  let attempts = 0;
  world.pause.work(need, () => {
    attempts += 1;
    return Promise.reject(noRoom());
  });
  await world.advance(2_000);
  world.pause.close();
  const before = attempts;
  world.hasRoom = true;
  await world.advance(100_000);
  assertEquals([attempts, world.calls], [before, ["hold"]]);
});

Deno.test("Pause: a full disk is known however it is wrapped, and a store's limit is none", () => {
  const wrapped = new Error("Cannot write", { cause: new Error("inner", { cause: noRoom() }) });
  const quota = Object.assign(new Error("Disk quota exceeded"), { code: "EDQUOT" });
  for (const error of [noRoom(), quota, wrapped, new BlobError("diskFull", ""), new JournalError("noSpace", "")]) {
    assert(isDiskFull(error), error.message);
  }
  for (const error of [new BlobError("noSpace", ""), new JournalError("tooLarge", ""), new Error(""), "ENOSPC"]) {
    assert(!isDiskFull(error));
  }
});

Deno.test("Pause: looking for room leaves nothing behind", () =>
  withScratchFolder(async (folder) => {
    await probeRoom(folder, 3_000_000);
    assertEquals(await Array.fromAsync(Deno.readDir(folder)), []);
  }));
