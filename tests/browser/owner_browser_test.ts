/// <reference lib="dom" />
/** The owner's buttons in a real Chromium, by mouse and by keyboard, and that nobody else sees them. */

import { assertEquals, assertMatch } from "@std/assert";
import { openOwnerPage } from "../../cli/orchestrator/owner/run_owner_page.ts";
import type { OwnerRequest } from "../../cli/orchestrator/owner/owner_request.ts";
import { openFolderPage } from "../../cli/observe/dashboard/run_dashboard.ts";
import { RunHistory } from "../../cli/observe/history/run_history.ts";
import { TerminalOutput } from "../../cli/terminal/output/output.ts";
import { parsed, refused } from "../../core/fault.ts";
import { defaultNetLimits } from "../../net/limits.ts";
import { listen } from "../../net/server.ts";
import { noChromium, withPage } from "../support/browser/chromium.ts";
import { overflow, seriousFaults } from "../support/browser/run_page.ts";
import { FakeHost } from "../support/fake_host.ts";
import { recordRun } from "../support/record_folder.ts";
import { withScratchFolder } from "../support/scratch_folder.ts";
import { testWhere } from "../support/test_where.ts";

const key = "cd".repeat(32);

/** The owner's page over a run's folder, which stands for the orchestrator. */
async function withOwner(body: (page: { url: string; acted: OwnerRequest[] }) => Promise<void>): Promise<void> {
  await withScratchFolder(async (folder) => {
    await recordRun(folder);
    const history = new RunHistory(folder);
    await history.refresh();
    const output = new TerminalOutput({ host: new FakeHost(), json: true, quiet: true, verbose: false, noColor: true });
    const hub = await openFolderPage({ output }, { history, folder, host: "127.0.0.1", port: 0 });
    const acted: OwnerRequest[] = [];
    const answer = openOwnerPage({
      hub: new URL(hub.url).origin,
      key,
      act: (request) => {
        acted.push(request);
        return Promise.resolve(
          request.action === "admit" ? refused("wrongPhase", "It is no stranger") : parsed("Done"),
        );
      },
    });
    const server = await listen({
      ...{ host: "127.0.0.1", port: 0, limits: defaultNetLimits, fetch: answer, onNotice: () => {} },
      accept: () => ({ frame: () => {}, closed: () => {} }),
    });
    try {
      await body({ url: `${server.url}/`, acted });
    } finally {
      await hub.close();
      await server.close();
      await history.close();
    }
  });
}

testWhere(noChromium, "Browser: the owner pauses at once, and removes a node or stops after being asked", async () => {
  await withOwner(async ({ url, acted }) => {
    for (const width of [1280, 375]) {
      acted.length = 0;
      await withPage(`${url}#owner=${key}`, { width }, async ({ page, problems }) => {
        await page.waitForSelector("#owner:not([hidden])");
        assertEquals(page.url().includes(key), false, "the key is out of the address");
        const said = (text: string) =>
          page.waitForFunction((wanted) => document.getElementById("owner-answer")!.textContent === wanted, text);
        await page.click("#owner-pause");
        await said("Done");
        await page.fill("#owner-value", "fast");
        await page.keyboard.press("Enter");
        await said("A learning rate is a number such as 0.0005");
        await page.fill("#owner-address", "5GwwafEZ5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY");
        await page.keyboard.press("Enter");
        assertMatch(await page.locator("#owner-question").innerText(), /^Remove 5Gwwaf/);
        assertEquals(acted.length, 1, "it waits for a yes");
        await page.keyboard.press("Enter"); // the focus is on No
        await page.click("#owner-stop");
        await page.click("#owner-yes");
        await page.waitForFunction(() => document.getElementById("owner-answer")!.textContent === "Done");
        assertEquals(acted.map(({ action }) => action), ["pause", "stop"]);
        assertEquals(await overflow(page), 0);
        assertEquals([await seriousFaults(page), problems], [[], []]);
      });
    }
  });
});

testWhere(noChromium, "Browser: without the page's key there is nothing for an owner", async () => {
  await withOwner(async ({ url }) => {
    await withPage(url, {}, async ({ page }) => {
      await page.waitForFunction(() => document.getElementById("facts")!.children.length > 0);
      assertEquals(await page.locator("#owner").isVisible(), false);
    });
  });
});
