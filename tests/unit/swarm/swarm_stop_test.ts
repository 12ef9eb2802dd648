/** `iota swarm`: Ctrl-C before the first process is started, and a summary on a disk that becomes full. */

import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import type { Interrupt } from "../../../cli/rights/host.ts";
import { isFolder } from "../../../cli/files/disk.ts";
import { main } from "../../../cli/command_line.ts";
import { savedSummary, saveSummary } from "../../../cli/observe/run_summary.ts";
import { failingDisk } from "../../support/failing_disk.ts";
import { FakeHost, type FakeHostOptions } from "../../support/fake_host.ts";
import { withScratchFolder } from "../../support/scratch_folder.ts";

/** Asked to stop as soon as the command takes the signals over. */
class InterruptedHost extends FakeHost {
  readonly #signal: Interrupt;

  constructor(options: FakeHostOptions = {}, signal: Interrupt = "SIGINT") {
    super(options);
    this.#signal = signal;
  }

  override onInterrupt(callback: (signal: Interrupt) => void): void {
    super.onInterrupt(callback);
    callback(this.#signal);
  }
}

Deno.test("Swarm: Ctrl-C before anything is started ends with the summary of a run without steps", () =>
  withScratchFolder(async (folder) => {
    const host = new InterruptedHost();
    const words = `swarm --data ${folder}/run --size toy --device cpu --threads 1 --chain none --json`.split(" ");
    const code = await main(words, host);
    const { stdout, stderr } = host.written;
    const { type, finished, steps, run, lossLast } = JSON.parse(stdout.trimEnd().split("\n").at(-1) ?? "");
    assertEquals([code, type, finished, steps, run], [1, "summary", false, 0, `${folder}/run`]);
    assertEquals(lossLast, null);
    assertEquals(await isFolder(`${folder}/run`), false, "nothing is made");
    assertMatch(stderr, /Stopped before any process was started/);
  }));

Deno.test("Swarm: Ctrl-C of a person at the terminal is not a failure, nor is SIGTERM", () =>
  withScratchFolder(async (folder) => {
    const words = `swarm --data ${folder}/run --size toy --device cpu --threads 1 --chain none`.split(" ");
    const pressed = new InterruptedHost({ terminal: { columns: 100, rows: 40 } });
    assertEquals(await main(words, pressed), 0);
    assertMatch(pressed.written.stderr, /Stopped before any process was started/);
    const piped = new InterruptedHost({}, "SIGTERM");
    assertEquals(await main(words, piped), 0);
  }));

Deno.test("Summary: a disk that becomes full costs the new file and not the old one", () =>
  withScratchFolder(async (folder) => {
    const warnings: string[] = [];
    const warn = (text: string) => void warnings.push(text);
    await saveSummary({ steps: 1 }, { folder, warn });
    for (const survives of [0, 1, 2, 3]) {
      const disk = failingDisk(survives, () => Object.assign(new Error("No space left on device"), { code: "ENOSPC" }));
      await saveSummary({ steps: 2 }, { folder, warn, disk });
      assertEquals(await savedSummary(folder), { steps: 1 });
    }
    assertEquals(warnings.length, 4);
    assertStringIncludes(warnings[0]!, "as the disk is full");
    await saveSummary({ steps: 3 }, { folder, warn });
    assertEquals(await savedSummary(folder), { steps: 3 });
  }));
