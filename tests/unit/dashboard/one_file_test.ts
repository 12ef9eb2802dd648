/** The exported page: one file, its own policy, the same moments. */

import { assert, assertEquals, assertMatch } from "@std/assert";
import { recordedPast } from "../../../cli/observe/dashboard/page/past.ts";
import { bundled, oneFile, recordMoments } from "../../../cli/observe/dashboard/one_file.ts";
import { publicMoment } from "../../../cli/observe/history/past.ts";
import { RunHistory } from "../../../cli/observe/history/run_history.ts";
import { recordRun } from "../../support/record_folder.ts";
import { withScratchFolder } from "../../support/scratch_folder.ts";

Deno.test("Exported page: its moments are the run's own, in any order", async () => {
  await withScratchFolder(async (folder) => {
    await recordRun(folder);
    const history = new RunHistory(folder);
    const recording = (await recordMoments(history, await history.refresh()))!;
    const past = recordedPast(recording);
    assertEquals([past.positions, past.positionOf(past.span.last)], [600, 600]);
    for (const position of [600, 0, 31, 32, 33, 599, 64, 300]) {
      const sequence = past.sequenceAt(position);
      const state = await past.at(sequence);
      assertEquals(JSON.stringify(state?.run), JSON.stringify((await history.at(sequence, publicMoment))!.run));
      assertEquals([state?.sequence, past.positionOf(sequence)], [sequence, position]);
    }
    await history.close();
  });
});

Deno.test("Exported page: it names no place, runs only its own script, and holds nothing private", async () => {
  await withScratchFolder(async (folder) => {
    const evil = `</script><script>alert(1)</script>`;
    const more = [{ type: "warning", text: "a/secret/path" }, {
      type: "noted",
      label: "x",
      text: evil,
    }] as const;
    await recordRun(folder, { steps: 3, facts: { run: evil, device: "secret device" }, more });
    const history = new RunHistory(folder);
    const recording = (await recordMoments(history, await history.refresh()))!;
    assert(!/secret/.test(JSON.stringify(recording)));
    const text = await oneFile(recording);
    assertEquals(text.match(/<script/g)?.length, 2); // the program, the recording
    assertMatch(
      text,
      /content-security-policy" content="default-src 'none'; script-src 'sha256-[^']+'; style-src 'sha256-/,
    );
    assert(!/https?:\/\/(?!www\.w3\.org\/2000\/svg)|href="\/|src="\//.test(text));
    await history.close();
  });
});

Deno.test("Exported page: the program of all modules is one script without imports", () => {
  const script = bundled("cli/observe/dashboard/page/main.ts");
  assert(!/^(import|export) /m.test(script));
  const AsyncFunction = Object.getPrototypeOf(async () => {}).constructor;
  new AsyncFunction(script); // parses
});
