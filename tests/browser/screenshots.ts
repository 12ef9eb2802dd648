/**
 * `make screenshots`: pictures of the dashboard of a run's folder, light and dark, wide and narrow, and of the terminal.
 *
 *   deno run -A tests/browser/screenshots.ts RUN OUT
 *
 * Owns: what is in the pictures. They are drawn from the run's own records, at a moment in the middle of it.
 */

import { openFolderPage } from "../../cli/observe/dashboard/run_dashboard.ts";
import { RunHistory } from "../../cli/observe/history/run_history.ts";
import { TerminalOutput } from "../../cli/terminal/output/output.ts";
import { noChromium, type PageOptions, withPage } from "../support/browser/chromium.ts";
import { FakeHost } from "../support/fake_host.ts";
import { terminalPage } from "../support/browser/terminal_page.ts";

const [run, out] = Deno.args;
if (run === undefined || out === undefined) throw new Error("Cannot take pictures: RUN or OUT is missing");
if (noChromium !== null) throw new Error(`Cannot take pictures: ${noChromium}`);

const history = new RunHistory(run);
const { first, last } = await history.refresh();
const moment = first + Math.floor((last - first) * 0.6);
const output = new TerminalOutput({ host: new FakeHost(), json: true, quiet: true, verbose: false, noColor: true });
const page = await openFolderPage({ output }, { history, folder: run, host: "127.0.0.1", port: 0 });
const [member] = await history.at(moment, ({ view }) => Object.keys(view.nodes)) ?? [];

for (const colorScheme of ["light", "dark"] as const) {
  await take(`dashboard_${colorScheme}`, `${page.url}#at=${moment}`, { colorScheme, width: 1160, height: 1180 });
  const terminal = await history.at(moment, ({ view, atMs }) => terminalPage(view, { nowMs: atMs, colorScheme }));
  await take(`terminal_${colorScheme}`, `data:text/html;base64,${terminal}`, { colorScheme, width: 900 });
}
await take("phone_dark", `${page.url}#at=${moment}`, { colorScheme: "dark", width: 375 });
await take("member_light", `${page.url}#at=${moment}&node=${member}`, { colorScheme: "light", width: 1160 });
await page.close();
await history.close();

async function take(name: string, url: string, options: PageOptions): Promise<void> {
  await withPage(url, options, async ({ page }) => {
    if (url.startsWith("http")) await page.waitForSelector("body.past");
    const path = `${out}/${name}.png`;
    const terminal = page.locator("pre");
    if (await terminal.count() > 0) await terminal.screenshot({ path });
    else await page.screenshot({ path });
    console.log(`${path}  ${(await Deno.stat(path)).size} bytes`);
  });
}
