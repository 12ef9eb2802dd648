/// <reference lib="dom" />
/** Two runs on one page in a real Chromium: both curves, numbers and texts at the step that the slider chooses. */

import { assertEquals, assertMatch } from "@std/assert";
import type { Page } from "playwright-core";
import { openBeside, openFolderPage } from "../../cli/observe/dashboard/run_dashboard.ts";
import { RunHistory } from "../../cli/observe/history/run_history.ts";
import { TerminalOutput } from "../../cli/terminal/output/output.ts";
import { noChromium, withPage } from "../support/browser/chromium.ts";
import { overflow, seriousFaults, shows } from "../support/browser/run_page.ts";
import { FakeHost } from "../support/fake_host.ts";
import { recordRun } from "../support/record_folder.ts";
import { withScratchFolder } from "../support/scratch_folder.ts";
import { testWhere } from "../support/test_where.ts";

/** The page of a run of 40 steps beside one of `steps`. */
async function withTwo(steps: number, body: (url: string) => Promise<void>): Promise<void> {
  await withScratchFolder(async (folder) => {
    const [own, its] = [`${folder}/own`, `${folder}/its`];
    for (const path of [own, its]) await Deno.mkdir(path);
    await recordRun(own);
    await recordRun(its, { steps });
    const history = new RunHistory(own);
    const beside = openBeside(its);
    await Promise.all([history.refresh(), beside.history.refresh()]);
    const output = new TerminalOutput({ host: new FakeHost(), json: true, quiet: true, verbose: false, noColor: true });
    const page = await openFolderPage({ output }, { history, folder: own, beside, host: "127.0.0.1", port: 0 });
    try {
      await body(page.url);
    } finally {
      await page.close();
      await Promise.all([history.close(), beside.history.close()]);
    }
  });
}

const row = (page: Page, label: string) => page.locator("#beside-facts tr", { hasText: label }).first().innerText();

testWhere(noChromium, "Browser: two runs are shown at the same step, wherever the slider is", async () => {
  await withTwo(40, async (url) => {
    for (const width of [1280, 375]) {
      await withPage(url, { width }, async ({ page, problems }) => {
        await shows(page, "at step 40 of 40");
        assertEquals(await page.locator("#loss .line").count(), 4); // training and held-out text of both
        assertMatch(await page.locator("#loss").getAttribute("aria-label") ?? "", /Beside it: Training loss from/);
        await page.waitForSelector("#time:not([hidden])");
        await page.locator("#moment").focus();
        await page.keyboard.press("Home");
        await shows(page, "at step 0 of 40");
        await page.keyboard.press("End");
        await shows(page, "at step 40 of 40");
        assertMatch(await row(page, "Step"), /Step\s+40 of 40\s+40 of 40/);
        const held = /Held-out loss\s+(\S+)\s+(\S+)/.exec(
          await row(page, "Held-out loss"),
        )!;
        assertEquals(held[1], held[2]);
        assertEquals(await overflow(page), 0);
        assertEquals([await seriousFaults(page), problems], [[], []]);
      });
    }
  });
});

testWhere(noChromium, "Browser: a run that came less far stays at its last step", async () => {
  await withTwo(13, async (url) => {
    await withPage(url, {}, async ({ page, problems }) => {
      await shows(page, "at step 13 of 40; it has not come further");
      assertMatch(await row(page, "Step"), /Step\s+40 of 40\s+13 of 40/);
      assertEquals(problems, []);
    });
  });
});
