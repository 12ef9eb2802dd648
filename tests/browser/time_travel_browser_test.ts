/// <reference lib="dom" />
/** Time travel in a real Chromium: past moments, the way back to the newest, the texts of then, an exported file. */

import { assert, assertEquals, assertMatch } from "@std/assert";
import { oneFile, recordMoments } from "../../cli/observe/dashboard/one_file.ts";
import { RunHistory } from "../../cli/observe/history/run_history.ts";
import { noChromium, withPage } from "../support/browser/chromium.ts";
import { overflow, shows, step, tellSample, withRun } from "../support/browser/run_page.ts";
import { recordRun } from "../support/record_folder.ts";
import { sampleRun } from "../support/sample_run.ts";
import { withScratchFolder } from "../support/scratch_folder.ts";
import { testWhere } from "../support/test_where.ts";

testWhere(noChromium, "Browser: a past moment looks as it did live, and the newest is one key away", async () => {
  await withRun({}, async (run, page) => {
    const text = () =>
      page.locator("main").evaluate((main) => {
        const parts = ["facts", "quality", "stages", "members", "news"];
        return parts.map((id) => main.querySelector(`#${id}`)!.textContent).join("\n");
      });
    const atTwenty = await text();
    tellSample(run, 40, 20);
    await shows(page, "step 40 of 40");
    const sequence = await page.evaluate(async () => (await (await fetch("/api/v1/history")).json()).last);
    const ofTwenty = 1 + sampleRun(20).length;
    assert(sequence > ofTwenty);
    await page.evaluate((at) => location.hash = `at=${at}`, ofTwenty);
    await shows(page, "step 20 of 40");
    assertEquals(without(await text(), /about \d+ s/), without(atTwenty, /about \d+ s/));
    await page.locator("#moment").focus();
    await page.keyboard.press("Home");
    await shows(page, "step 0 of 40");
    assertMatch(new URL(page.url()).hash, /^#at=1$/);
    await page.keyboard.press("ArrowRight");
    await page.waitForFunction(() => location.hash === "#at=2");
    await page.keyboard.press("End");
    await shows(page, "newest");
    assertEquals([await step(page), new URL(page.url()).hash], ["40 of 40", ""]);
    await page.locator("#earlier").press("Enter");
    await page.waitForFunction((last) => location.hash === `#at=${last - 1}`, sequence);
    await page.locator("#newest").press("Enter");
    await shows(page, "newest");
  });
});

testWhere(noChromium, "Browser: from the newest moment, the slider stays where a key has put it", async () => {
  await withRun({}, async (_run, page) => {
    const slider = page.locator("#moment");
    await slider.focus();
    await page.keyboard.press("Home");
    await shows(page, "step 0 of 40");
    assertEquals(await slider.inputValue(), "0");
    await page.keyboard.press("End");
    await shows(page, "newest");
    assertEquals([await slider.inputValue(), await step(page)], [await slider.getAttribute("max"), "20 of 40"]);
  });
});

const without = (text: string, pattern: RegExp): string => text.replace(pattern, "");

testWhere(noChromium, "Browser: the newest is one key away also before a past moment has come", async () => {
  await withRun({}, async (_run, page) => {
    const held = Promise.withResolvers<void>();
    await page.route("**/api/v1/past?*", async (route) => {
      await held.promise;
      await route.continue();
    });
    await page.locator("#earlier").press("Enter");
    await page.waitForFunction(() => location.hash.startsWith("#at="));
    await page.locator("#newest").press("Enter");
    await page.waitForFunction(() => location.hash === "");
    assertEquals(await page.evaluate(() => document.activeElement?.id), "moment"); // keys still go somewhere
    const answered = page.waitForResponse("**/api/v1/past?*");
    held.resolve();
    await answered;
    await shows(page, "newest");
    assertEquals(await page.locator("body.past").count(), 0);
  });
});

testWhere(
  noChromium,
  "Browser: samples of the model's text follow the slider, and hostile ones are only text",
  async () => {
    await withRun({ width: 375 }, async (run, page) => {
      const samples = page.locator("#samples li");
      await page.waitForSelector("#sampling", { state: "hidden" });
      run.tell({
        type: "textSampled",
        round: 2,
        step: 20,
        prompt: "The people",
        text: " and\nthe Congress",
        tokens: 4,
      });
      run.timers.advance(500);
      await shows(page, "after 2 rounds");
      assertEquals(
        await samples.innerText(),
        "step 20 · after 2 rounds · held-out loss 5.0000\n\nThe people and\nthe Congress",
      );
      const { sequence } = await page.evaluate(async () => await (await fetch("/api/v1/run")).json());
      tellSample(run, 30, 20);
      const text = `<img src=x onerror="document.title='owned'">\u202e\u001b[2J\ud800${"\u0335".repeat(200)}${
        "x".repeat(4_000)
      }`;
      run.tell({ type: "textSampled", round: 3, step: 30, prompt: "שלום", text, tokens: 4 });
      run.timers.advance(500);
      await shows(page, "<img src=x");
      assertEquals(await samples.count(), 2);
      assertEquals([await page.locator("main img").count(), await overflow(page)], [0, 0]);
      assert(await page.title() !== "owned");
      await page.evaluate((at) => location.hash = `at=${at}`, sequence);
      await shows(page, "step 20 of 40");
      await page.waitForFunction(() => document.querySelectorAll("#samples li").length === 1);
      await page.evaluate(() => location.hash = "at=3");
      await page.waitForSelector("#sampling", { state: "hidden" });
    });
  },
);

testWhere(noChromium, "Browser: a chosen moment stays while the run goes on", async () => {
  await withRun({}, async (run, page) => {
    await page.locator("#moment").focus();
    await page.keyboard.press("Home");
    await shows(page, "step 0 of 40");
    const updated = page.waitForResponse(/./).catch(() => null);
    tellSample(run, 30, 20);
    run.timers.advance(500);
    await page.evaluate(async () => await (await fetch("/api/v1/run")).text());
    await updated;
    assertEquals(await step(page), "0 of 40");
    await page.locator("#newest").click();
    await shows(page, "step 30 of 40");
  });
});

testWhere(
  noChromium,
  "Browser: an exported file is scrubbed without a server, and says what its log lacks",
  async () => {
    await withScratchFolder(async (folder) => {
      await recordRun(folder);
      const log = (await Deno.readTextFile(`${folder}/records.jsonl`)).split("\n");
      await Deno.writeTextFile(`${folder}/records.jsonl`, [...log.slice(0, 400), "torn", ...log.slice(402)].join("\n"));
      const history = new RunHistory(folder);
      const recording = await recordMoments(history, await history.refresh());
      await history.close();
      const file = `${folder}/run.html`;
      await Deno.writeTextFile(file, await oneFile(recording!));
      await withPage(`file://${file}`, {}, async ({ page, problems }) => {
        await shows(page, "step 40 of 40");
        await shows(page, "2 records missing: 401–402. 1 line of the log cannot be read.");
        await page.locator("#moment").focus();
        await page.keyboard.press("Home");
        await shows(page, "step 0 of 40");
        await page.locator("#play").press("Enter");
        await shows(page, "newest");
        assertEquals([await step(page), problems], ["40 of 40", []]);
      });
    });
  },
);
