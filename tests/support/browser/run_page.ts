/// <reference lib="dom" />
/** The sample run's page in Chromium, for the tests of the page: opened, followed, and what it shows. */

import { assertEquals } from "@std/assert";
import axe from "axe-core";
import type { Page } from "playwright-core";
import { sampleRun } from "../sample_run.ts";
import { withScratchFolder } from "../scratch_folder.ts";
import { type PageOptions, withPage } from "./chromium.ts";
import { type LivePage, withLivePage } from "./live_page.ts";

export const step = (page: Page) => page.locator("#facts div", { hasText: "Step" }).locator("dd").first().textContent();

export async function shows(page: Page, text: string): Promise<void> {
  await page.waitForFunction((text) => document.body.innerText.includes(text), text);
}

export function tellSample(run: LivePage, steps: number, from = 0): void {
  const { length } = sampleRun(from);
  for (const { record } of sampleRun(steps).slice(from === 0 ? 0 : length)) run.tell(record);
  run.timers.advance(500);
}

/** The page of a run with a past. */
export async function withRun(
  options: PageOptions,
  body: (run: LivePage, page: Page, problems: string[]) => Promise<void>,
): Promise<void> {
  await withScratchFolder(async (folder) => {
    await withLivePage({ folder }, async (run) => {
      tellSample(run, 20);
      await withPage(run.url, options, async ({ page, problems }) => {
        await shows(page, "step 20 of 40");
        await page.waitForSelector("#time:not([hidden])");
        await body(run, page, problems);
        assertEquals(problems, []);
      });
    });
  });
}

/** By how many pixels the page is too wide. */
export const overflow = (page: Page) =>
  page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);

/** What axe-core finds that keeps people out. */
export async function seriousFaults(page: Page): Promise<string[]> {
  await page.evaluate(axe.source); // as the devtools would, not as a script of the page
  return await page.evaluate(async () => {
    const { violations } = await (globalThis as unknown as { axe: typeof axe }).axe.run();
    return violations.filter(({ impact }) => impact === "serious" || impact === "critical").map(({ id, nodes }) =>
      `${id}: ${nodes.map(({ html }) => html).join(" ")}`
    );
  });
}
