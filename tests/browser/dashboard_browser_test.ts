/// <reference lib="dom" />
/** The dashboard in a real Chromium: load, live updates, hostile texts, looks and access. */

import { assert, assertEquals, assertMatch } from "@std/assert";
import type { Page } from "playwright-core";
import { keepChainWeights } from "../../cli/chain/duty/weights_file.ts";
import { microbatchId, nodeId, stageIndex, taskId } from "../../core/ids.ts";
import { noChromium, withPage } from "../support/browser/chromium.ts";
import { withLivePage } from "../support/browser/live_page.ts";
import { overflow, seriousFaults, shows, tellSample, withRun } from "../support/browser/run_page.ts";
import { recordLedger } from "../support/ledger_folder.ts";
import { sampleMiners, sampleValidator } from "../support/sample_run.ts";
import { withScratchFolder } from "../support/scratch_folder.ts";
import { testWhere } from "../support/test_where.ts";

testWhere(noChromium, "Browser: the page loads, follows the run, and asks for nothing elsewhere", async () => {
  await withRun({}, async (run, page) => {
    assertEquals(await page.title(), "demo · step 20 of 40 · iota");
    tellSample(run, 23, 20);
    await shows(page, "step 23 of 40");
    await shows(page, "lost");
    tellSample(run, 40, 23);
    await shows(page, "step 40 of 40");
    await page.waitForFunction(() => document.querySelectorAll("#members tr").length === 6); // drawn in a frame of its own
  });
});

testWhere(noChromium, "Browser: a member has a page of its own, by link and by address", async () => {
  await withRun({}, async (run, page) => {
    tellSample(run, 40, 20);
    const node = sampleMiners[4]!;
    await page.locator("#find").fill(node.slice(2, 12));
    await shows(page, "1 of 6 members.");
    await page.locator("#members a").press("Enter");
    await shows(page, node);
    assertMatch(await page.locator("#member-facts").innerText(), /Audits\s+1 passed, 1 failed/);
    assertMatch(await page.locator("#reasons").innerText(), /1 audit failed/);
    assertEquals(await page.evaluate(() => document.activeElement?.id), "member");
    await page.goto(`${run.url}#node=nobody`);
    await shows(page, "No member of this address");
    await page.locator("#close").press("Enter");
    await page.waitForSelector("#member", { state: "hidden" });
  });
});

testWhere(noChromium, "Browser: speed, bytes and miners have curves, whose values show under the pointer", async () => {
  await withRun({}, async (run, page) => {
    run.tell({ type: "bytesMoved", wires: 20_480, merge: 4_096, parameters: 0, control: 2_048 });
    tellSample(run, 21, 20);
    await shows(page, "step 21 of 40");
    const label = (id: string) => page.locator(id).getAttribute("aria-label");
    assertEquals(
      await label("#bytes"),
      "bytes per token, the newest steps: wires 10, merges 2, parameters 0, messages 1",
    );
    assertEquals(await page.locator("#bytes rect.part").count(), 3);
    assertMatch(await label("#miners") ?? "", /^6 miners at step 21; between 6 and 6$/);
    assertMatch(await label("#speed") ?? "", /^[\d,.]+ tokens\/s at step 21/);
    await page.locator("#loss").hover({ position: { x: 800, y: 60 } });
    assertMatch(
      await page.locator("#loss-at").innerText(),
      /^step \d+: training \d\.\d{4}, held-out text \d\.\d{4} at step 10$/,
    );
    await page.locator("#miners").hover({ position: { x: 200, y: 60 } });
    assertMatch(await page.locator("#miners-at").innerText(), /^step \d+: 6 miners$/);
    assertEquals(await page.locator("#loss-at").innerText(), "");
    const dots = await page.locator("#flight circle").count();
    const task = taskId({ microbatch: microbatchId(900), stage: stageIndex(0), direction: "forward", attempt: 0 });
    run.tell({
      ...{ type: "taskFinished", task, node: sampleMiners[0]!, stage: stageIndex(0), microbatch: microbatchId(900) },
      ...{ direction: "forward", sentMs: 0, tookMs: 9, computeMs: 5 },
    });
    run.timers.advance(500);
    await page.waitForFunction((before) => document.querySelectorAll("#flight circle").length === before + 1, dots);
  });
});

testWhere(noChromium, "Browser: dragging over the losses zooms in, and they can be smoothed", async () => {
  await withRun({}, async (_run, page) => {
    const steps = () => page.locator("#loss text[text-anchor=middle]").allTextContents();
    const whole = await steps();
    const box = (await page.locator("#loss").boundingBox())!;
    await page.mouse.move(box.x + box.width * 0.4, box.y + 60);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.6, box.y + 60);
    assertEquals(await page.locator("#loss .band").count(), 1);
    await page.mouse.up();
    await page.waitForSelector("#zoom-out:not([hidden])");
    const part = (await steps()).map(Number);
    assert(part.length > 1 && Math.min(...part) > 5 && Math.max(...part) < 15, `${part}`);
    assertEquals(await page.locator("#loss .band").count(), 0);
    await page.locator("#zoom-out").press("Enter");
    await page.waitForSelector("#zoom-out", { state: "hidden" });
    assertEquals(await steps(), whole);
    await page.locator("#smoothing").focus();
    await page.keyboard.press("End");
    await page.waitForFunction(() => document.querySelectorAll("#loss path.raw").length === 1);
  });
});

testWhere(
  noChromium,
  "Browser: a run that is over shows nothing that is live, and its rounds are those merged",
  async () => {
    await withRun({}, async (run, page) => {
      tellSample(run, 40, 20);
      run.tell({ type: "runFinished", step: 40, finished: true, reason: "all steps are done" });
      run.timers.advance(500);
      await page.waitForSelector("body.over");
      const facts = await page.locator("#facts").innerText();
      assertMatch(facts, /Rounds\s+\d+\s[^]*Took/);
      for (const live of ["Throughput", "Time left", "Members"]) assert(!facts.includes(live), facts);
      assert(!(await page.locator("#pipeline").innerText()).includes("in flight"));
      assertEquals([await page.locator("#bar").isVisible(), await page.locator(".flight").isVisible()], [false, false]);
    });
  },
);

testWhere(noChromium, "Browser: a microbatch's way is shown, the slowest first, any other from the log", async () => {
  await withRun({}, async (run, page, problems) => {
    const text = () => page.locator("#way-text").innerText();
    const links = page.locator("#sampled a");
    await page.locator("#developer summary").click(); // folded until somebody asks
    assertEquals(await links.count(), 4); // all of the step
    assertMatch(await text(), /^Microbatch \d+ in step 20, 5 tasks done /);
    await links.first().press("Enter");
    await shows(page, "Microbatch 76 in step 20");
    assertEquals(await page.locator("#tasks tr").count(), 5);
    assertEquals(await page.locator("#way .device").count(), 5);
    assertMatch(
      await page.locator("#tasks tr").nth(2).innerText(),
      /^2 turnaround\s+5\w+…\w+\s+[\d.]+ ms\s+30 ms\s+23 ms$/,
    );
    await page.locator("#microbatch").fill("5");
    await page.locator("#microbatch").press("Enter");
    await shows(page, "Microbatch 5 in step 2,");
    await page.locator("#microbatch").fill("5000");
    await page.locator("#microbatch").press("Enter");
    await shows(page, "the run's record log holds no finished task of it");
    tellSample(run, 21, 20);
    await shows(page, "step 21 of 40");
    await page.goto(`${run.url}#microbatch=80`);
    await shows(page, "Microbatch 80 in step 21");
    await page.locator("#tasks a").first().press("Enter");
    await page.waitForSelector("#member:not([hidden])");
    assert(problems.splice(0).every((problem) => problem.includes("404"))); // of the microbatch that is not in the log
  });
});

testWhere(
  noChromium,
  "Browser: a member's page says what it earned and why, and a validator's what it scores and weighs",
  async () => {
    await withScratchFolder(async (folder) => {
      const [right, wrong] = [sampleMiners[0]!, sampleMiners[4]!];
      await recordLedger(folder, { right, wrong, validator: sampleValidator });
      const weights = [{ hotkey: right, share: 1 }];
      await keepChainWeights(folder, {
        block: 70,
        atMs: 0,
        validators: [{ hotkey: sampleValidator, setAtBlock: 66, weights }],
      });
      await withLivePage({ folder }, async (run) => {
        tellSample(run, 31);
        for (const width of [1280, 375]) {
          run.timers.advance(10_000); // answers are rationed
          await withPage(`${run.url}#node=${wrong}`, { width }, async ({ page, problems }) => {
            await shows(page, "From the signed log, round 0 and later");
            const rows = page.locator("#rounds tr");
            assertMatch(
              await rows.nth(1).innerText(),
              /4\.5 of 9\s+[\d.]+ %\s+half of the pay, because it missed a deadline/,
            );
            assertMatch(await rows.nth(2).innerText(), /withheld by 5GNJqT…xiZY/);
            await shows(page, "Correct outputs: 1 validator withholds its pay");
            assertEquals(await overflow(page), 0);
            await page.locator("#validators a").press("Enter");
            await shows(page, "Its weights on the chain, set at block 66");
            assertMatch(await page.locator("#scores").innerText(), /^5Grwva…\w+\s+100\.0 %/);
            run.timers.advance(10_000);
            await page.locator("#given a").press("Enter");
            await shows(page, "Weights on the chain, by validator");
            assertMatch(await page.locator("#validators").innerText(), /2\s+1\s+3\s+4\.\d+\s+5\w+…\w+ in round 3/);
            assertEquals(problems, []);
          });
        }
      });
    });
  },
);

testWhere(noChromium, "Browser: hostile names and texts are shown as text", async () => {
  const evil = `"><img src=x onerror="document.title='owned'"><script>document.title='owned'</script>\u202e\u0000`;
  await withScratchFolder(async (folder) => {
    await withLivePage({ folder, facts: { run: evil, size: evil } }, async (run) => {
      const node = nodeId(`${evil}${"x".repeat(5_000)}`);
      run.tell({ type: "nodeJoined", node, role: "miner", adapter: evil });
      run.tell({ type: "nodeLost", node, reason: evil, tasksReissued: 0, tasksKept: 0 });
      run.tell({ type: "faultSeen", node, code: evil, detail: evil });
      run.timers.advance(500);
      await withPage(run.url, { width: 375 }, async ({ page, problems }) => {
        await shows(page, "<img src=x");
        assertEquals(await page.locator("main img, main script").count(), 0);
        assert(await page.title() !== "owned");
        assertEquals(await overflow(page), 0);
        assertEquals(problems, []);
      });
    });
  });
});

for (const colorScheme of ["light", "dark"] as const) {
  testWhere(noChromium, `Browser: no serious fault of access, ${colorScheme}, wide and narrow`, async () => {
    for (const width of [1280, 375]) {
      await withRun({ colorScheme, width }, async (run, page) => {
        tellSample(run, 31, 20);
        run.tell({ type: "textSampled", round: 3, step: 30, prompt: "The people", text: " of the States", tokens: 4 });
        run.timers.advance(500);
        await shows(page, "step 31 of 40");
        await shows(page, "of the States");
        assertEquals(await overflow(page), 0);
        assertEquals(await seriousFaults(page), []);
        const back = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
        assertEquals(back === "rgb(16, 20, 24)", colorScheme === "dark");
      });
    }
  });
}

testWhere(noChromium, "Browser: a frame of a thousand miners takes less than ten times one of a hundred", async () => {
  const [ofHundred, ofThousand] = [await frameMs(100), await frameMs(1_000)];
  const said = `a frame of 100 miners takes ${ofHundred.toFixed(1)} ms, of 1,000 ${ofThousand.toFixed(1)} ms`;
  console.log(`  ${said}`);
  assert(ofThousand < 10 * ofHundred, said);
});

/** The middle one of the frames in which each of so many miners finishes a task. */
async function frameMs(count: number): Promise<number> {
  let took: number[] = [];
  await withScratchFolder(async (folder) => {
    await withLivePage({ folder, facts: { layersOfStages: Array.from({ length: 20 }, () => 1) } }, async (run) => {
      const miners = Array.from({ length: count }, (_, i) => nodeId(`5${String(i).padStart(47, sampleMiners[0])}`));
      miners.forEach((node, i) => {
        run.tell({ type: "nodeJoined", node, role: "miner", adapter: "" });
        run.tell({ type: "nodeAssigned", node, stage: i % 20 as never, round: 0 });
      });
      run.timers.advance(5_000);
      await withPage(run.url, { before: timeFrames }, async ({ page, problems }) => {
        await page.waitForFunction(() => document.querySelectorAll("#members tr").length === 100);
        await page.evaluate(() => (globalThis as unknown as DrawnPage).drawnMs.length = 0);
        for (let turn = 0; turn < 20; turn++) {
          for (const [i, node] of miners.entries()) {
            const [stage, microbatch] = [i % 20 as never, (turn * 1_000 + i) as never];
            run.tell({ type: "taskFinished", task: "" as never, node, stage, direction: "forward", microbatch });
          }
          run.timers.advance(5_000);
          await shownTasks(page, turn + 1);
        }
        took = await page.evaluate(() => (globalThis as unknown as DrawnPage).drawnMs.sort((a, b) => a - b));
        assert(took.length >= 20, `${took}`);
        assertEquals(problems, []);
      });
    });
  });
  return took[Math.floor(took.length / 2)]!;
}

/** Waits without frames of its own, which would count. */
const shownTasks = (page: Page, tasks: number) =>
  page.evaluate((tasks) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const look = () => {
      if (document.querySelector("#members tr")?.lastElementChild?.textContent === tasks) resolve();
    };
    new MutationObserver(look).observe(document.body, { subtree: true, childList: true, characterData: true });
    look();
    return promise;
  }, `${tasks}`);

interface DrawnPage {
  readonly drawnMs: number[]; // by the page's frames
}

/** Times the page's own frames, each with the layout that it causes. */
function timeFrames(): void {
  const drawnMs: number[] = [];
  Object.assign(globalThis, { drawnMs });
  const request = requestAnimationFrame;
  globalThis.requestAnimationFrame = (callback) =>
    request((time) => {
      const startedMs = performance.now();
      callback(time);
      document.body.getBoundingClientRect();
      drawnMs.push(performance.now() - startedMs);
    });
}
