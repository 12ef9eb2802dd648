/** How long the page of a finished run stays up, and what its run says at the end. */

import { assertEquals, assertMatch } from "@std/assert";
import type { CommandContext } from "../../../cli/terminal/command.ts";
import { untilUnseen } from "../../../cli/observe/dashboard/keep_page.ts";
import { openFolderPage } from "../../../cli/observe/dashboard/run_dashboard.ts";
import { RunHistory } from "../../../cli/observe/history/run_history.ts";
import { nextLines } from "../../../cli/observe/screen/next_lines.ts";
import type { KeyboardListener } from "../../../cli/program/keyboard.ts";
import { createPaint } from "../../../cli/terminal/text/paint.ts";
import { ManualTimers } from "../../support/net/manual_timers.ts";
import { withScratchFolder } from "../../support/scratch_folder.ts";
import { tinyConfig } from "../../support/tiny_model.ts";

function keep({ hasKeys = true } = {}) {
  const timers = new ManualTimers();
  const controller = new AbortController();
  let viewedAtMs = -Infinity;
  let keyboard: KeyboardListener | null = null;
  let isOver = false;
  const openKeys = (listener: KeyboardListener) => {
    keyboard = listener;
    return hasKeys;
  };
  const page = { viewedAtMs: () => viewedAtMs };
  void untilUnseen({ interruption: controller.signal, timers, page, openKeys }, () => {}).then(() => isOver = true);
  const settled = async () => {
    for (let i = 0; i < 5; i++) await Promise.resolve();
    return isOver;
  };
  return {
    pass: async (minutes: number, { isViewed = false } = {}) => {
      if (isViewed) viewedAtMs = timers.steadyMs();
      timers.advance(minutes * 60_000);
      return await settled();
    },
    press: async (key: string) => {
      keyboard!.onBytes(new TextEncoder().encode(key));
      return await settled();
    },
    abort: async () => {
      controller.abort();
      return await settled();
    },
  };
}

Deno.test("Kept page: Enter, as a terminal without line mode sends it, ends it; other keys do not", async () => {
  const page = keep();
  assertEquals(await page.press("x"), false);
  assertEquals(await page.press("\r"), true);
});

Deno.test("Kept page: it ends 10 minutes after its last viewer, and not while somebody looks", async () => {
  const page = keep({ hasKeys: false });
  assertEquals(await page.pass(9), false);
  assertEquals(await page.pass(9, { isViewed: true }), false);
  assertEquals(await page.pass(9, { isViewed: true }), false);
  assertEquals(await page.pass(1.1), true);
});

Deno.test("Kept page: only what an open page asks for counts as viewing", () =>
  withScratchFolder(async (folder) => {
    const history = new RunHistory(folder);
    await history.refresh();
    const output = { log: { warn: () => {}, debug: () => {} } } as unknown as CommandContext["output"];
    const page = await openFolderPage({ output }, { history, folder, host: "127.0.0.1", port: 0 });
    const isViewedBy = async (path: string, init?: RequestInit) => {
      const beforeMs = page.viewedAtMs();
      const response = await fetch(new URL(path, page.url), init);
      await response.body?.cancel();
      return page.viewedAtMs() > beforeMs;
    };
    for (const path of ["metrics", "favicon.ico", "api/v2/run", "", "status"]) {
      assertEquals(await isViewedBy(path), false, path);
    }
    assertEquals(await isViewedBy("api/v1/run", { method: "POST" }), false);
    assertEquals([await isViewedBy("api/v1/run"), await isViewedBy("events")], [true, true]);
    await page.close();
    await history.close();
  }));

Deno.test("Kept page: Ctrl-C ends it at once", async () => {
  assertEquals(await keep().abort(), true);
});

Deno.test("End of a run: it says what to do next as commands, with the word that started the program", () => {
  const from = { paint: createPaint(false), config: tinyConfig(), folder: "/tmp/my runs/demo" };
  const lines = (env: Record<string, string>) =>
    nextLines({ ...from, environment: { system: "linux", get: (name) => env[name] } }).join("\n");
  const text = lines({ IOTA_CALLED_AS: "./iota" });
  assertMatch(text, /read its text +\.\/iota generate --run '\/tmp\/my runs\/demo' --prompt 'The people'/);
  assertMatch(text, /open its page +\.\/iota dashboard --run '\/tmp\/my runs\/demo'\n/);
  assertMatch(text, /verify its log +\.\/iota verify '\/tmp\/my runs\/demo'/);
  assertMatch(text, /share its page +\.\/iota dashboard --run '\/tmp\/my runs\/demo' --export demo\.html/);
  assertMatch(lines({}), /iota generate/);
});
