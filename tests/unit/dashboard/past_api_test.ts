/** The past at the port: exact, bounded, and with reasons where there is none. */

import { assert, assertEquals, assertMatch } from "@std/assert";
import { pastPages } from "../../../cli/observe/dashboard/past_api.ts";
import { openPast } from "../../../cli/observe/history/past.ts";
import { PastThread } from "../../../cli/observe/history/past_thread.ts";
import { RunHistory } from "../../../cli/observe/history/run_history.ts";
import { ManualTimers } from "../../support/net/manual_timers.ts";
import { recordRun } from "../../support/record_folder.ts";
import { servedRun } from "../../support/served_run.ts";
import { withScratchFolder } from "../../support/scratch_folder.ts";

type Pages = ReturnType<typeof pastPages>;

const ask = (pages: Pages, path: string, origin = "unknown") =>
  Promise.resolve(pages[path.replace(/\?.*/, "")]!(new Request(`http://hub${path}`), origin));

Deno.test("Past API: a thread reads the same span and moments as this one", async () => {
  await withScratchFolder(async (folder) => {
    const { last } = await recordRun(folder);
    const timers = new ManualTimers();
    const history = new RunHistory(folder);
    const [here, thread] = [openPast(history, folder), new PastThread(folder, timers)];
    assertEquals(JSON.parse(await thread.span()), JSON.parse(await here.span()));
    const both = await Promise.all([1, 400, last].flatMap((at) => [thread.at(at), here.at(at)]));
    for (let i = 0; i < both.length; i += 2) assertEquals(JSON.parse(both[i]!), JSON.parse(both[i + 1]!));
    timers.advance(60_000); // it has ended, and starts again
    assertEquals(JSON.parse((await thread.at(7))!).sequence, 7);
    const interrupted = thread.at(8).then(() => "answered", (error: Error) => error.message);
    thread.close();
    assertMatch(await interrupted, /this process is ending/);
    await history.close();
  });
});

Deno.test("Past API: bytes are rationed, and whoever comes too early is told when to come back", async () => {
  await withScratchFolder(async (folder) => {
    await recordRun(folder);
    const timers = new ManualTimers();
    const history = new RunHistory(folder);
    const pages = pastPages(openPast(history, folder), { timers, bytesPerSecond: 2_000 });
    const statuses: number[] = [];
    assertEquals((await ask(pages, "/api/v1/history")).status, 200);
    for (let i = 0; i < 4; i++) statuses.push((await ask(pages, "/api/v1/past?at=900")).status);
    assertEquals(new Set(statuses), new Set([200, 503]));
    const refused = await ask(pages, "/api/v1/past?at=900");
    assertEquals([refused.status, refused.headers.get("retry-after")], [503, "1"]);
    timers.advance(10_000);
    assertEquals((await ask(pages, "/api/v1/past?at=900")).status, 200);
    await history.close();
  });
});

Deno.test("Past API: an address that asks without end does not shut out the others", async () => {
  await withScratchFolder(async (folder) => {
    await recordRun(folder, { steps: 2 });
    const history = new RunHistory(folder);
    const timers = new ManualTimers();
    const pages = pastPages(openPast(history, folder), { timers, bytesPerSecond: 2 ** 20 });
    const refusals = { greedy: 0, other: 0 };
    for (let second = 0; second < 20; second++) {
      for (let i = 0; i < 8; i++) {
        const { status } = await ask(pages, "/api/v1/member?node=x", "10.0.0.5");
        refusals.greedy += Number(status === 503);
      }
      for (const path of ["/api/v1/past?at=9", "/api/v1/history"]) {
        refusals.other += Number((await ask(pages, path, "10.0.0.77")).status === 503);
      }
      timers.advance(1_000);
    }
    assertEquals([refusals.greedy > 100, refusals.other], [true, 1]); // after the burst of its first second
    await history.close();
  });
});

Deno.test("Past API: a search costs more than its answer, so that nobody has the log searched all the time", async () => {
  await withScratchFolder(async (folder) => {
    await recordRun(folder, { steps: 2 });
    const history = new RunHistory(folder);
    const timers = new ManualTimers();
    const pages = pastPages(openPast(history, folder), { timers, bytesPerSecond: 2 ** 17 });
    let asked = 0; // by as many addresses
    const search = async (microbatch: number) =>
      (await ask(pages, `/api/v1/pathway?microbatch=${microbatch}`, `10.0.0.${asked++}`)).status;
    assertEquals([await search(3), await search(99), await search(4), await search(5)], [200, 404, 200, 503]);
    timers.advance(1_000);
    assertEquals(await search(5), 200);
    await history.close();
  });
});

Deno.test("Past API: of many questions at once a few wait, and an answer that takes too long is given up", async () => {
  const timers = new ManualTimers();
  const never = Promise.withResolvers<string>();
  const slow = {
    span: () => never.promise,
    at: () => never.promise,
    pathway: () => never.promise,
    account: () => never.promise,
    earnings: () => never.promise,
    close: () => {},
  };
  const [pages, pagesOfOne] = [1, 2].map(() => pastPages(slow, { timers, bytesPerSecond: 1_000 })) as [Pages, Pages];
  const answers = Array.from({ length: 40 }, (_, i) => ask(pages, `/api/v1/past?at=${i}`, `10.0.0.${i % 3}`));
  const ofOne = Array.from({ length: 40 }, (_, i) => ask(pagesOfOne, `/api/v1/past?at=${i}`));
  timers.advance(10_000);
  const waited = async (asked: Promise<Response>[]) =>
    (await Promise.all(asked)).filter(({ status }) => status === 500).length;
  assertEquals([await waited(answers), await waited(ofOne)], [8, 4]);
  assertEquals((await answers.at(-1))?.status, 503);
  never.resolve("");
});

Deno.test("Past API: what is not a moment is refused with the reason, and a process without a log says so", async () => {
  await withScratchFolder(async (folder) => {
    const history = new RunHistory(folder);
    const pages = pastPages(openPast(history, folder), { timers: new ManualTimers(), bytesPerSecond: 1_000 });
    for (const at of ["", "?at=-1", "?at=1.5", "?at=x", `?at=${"9".repeat(30)}`]) {
      const response = await ask(pages, `/api/v1/past${at}`);
      assertEquals(response.status, 400, at);
    }
    assertMatch((await (await ask(pages, "/api/v1/past?at=3")).json()).detail, /record log is empty/);
    assertEquals((await ask(pages, "/api/v1/pathway?microbatch=-1")).status, 400);
    assertMatch((await (await ask(pages, "/api/v1/pathway?microbatch=3")).json()).detail, /no finished task of it/);
    await history.close();
  });
  const run = servedRun();
  assert(await (await run.get("/api/v1/history")).json() === null);
  run.close();
});
