/** Machines whose clocks are wrong train together, and each owner reads whose clock it is and by how much. */

import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { createHotkey } from "../../chain/wallet/hotkey_files.ts";
import { IotaProcess } from "../support/process/iota_process.ts";
import { writeSmallCorpus } from "../support/process/small_corpus.ts";
import { withScratchFolder } from "../support/scratch_folder.ts";

const entry = "tests/support/skewed/skewed_iota.ts";
const minuteMs = 60_000;

/** What the owners of a run read whose nodes' clocks are ahead by these. */
async function train(folder: string, aheads: readonly number[]): Promise<{ hub: string; nodes: string[] }> {
  const corpus = await writeSmallCorpus(folder);
  const shape = [
    "--size",
    "toy",
    "--stages",
    "1",
    "--replicas",
    String(aheads.length),
    "--validators",
    "0",
    "--steps",
    "3",
  ];
  const hub = new IotaProcess([
    ...["orchestrate", ...shape, "--port", "0", "--corpus", corpus, "--data", `${folder}/run`],
    "--json",
  ]);
  const url = (await hub.lines.next("listening"))["url"] as string;
  const wallets = `${folder}/wallets`;
  const nodes = await Promise.all(aheads.map(async (aheadMs, index) => {
    await createHotkey({ folder: wallets, wallet: "hot", hotkey: `h${index}` });
    const wallet = ["--wallet", "hot", "--hotkey", `h${index}`, "--wallet-path", wallets];
    const place = ["--orchestrator", url, "--data", `${folder}/miner-${index}`, "--device", "cpu"];
    const env = { IOTA_TEST_AHEAD_MS: String(aheadMs) };
    return new IotaProcess(["miner", ...wallet, ...place, "--json"], env, { entry });
  }));
  const ended = await Promise.all([hub, ...nodes].map((each) => each.ended));
  for (const { code, stderr } of ended) assertEquals(code, 0, stderr);
  const summary = hub.lines.all.at(-1)!;
  assertEquals([summary["finished"], summary["microbatchesLost"]], [true, 0]);
  const [first, ...rest] = ended.map(({ stderr, stdout }) => stderr + stdout);
  return { hub: first!, nodes: rest };
}

Deno.test("Clocks: five nodes with clocks of their own, minutes and hours off, train; each reads both times", async () => {
  await withScratchFolder(async (folder) => {
    const aheads = [-180, -3, 0, 5, 60 * 24].map((minutes) => minutes * minuteMs);
    const { hub, nodes } = await train(folder, aheads);
    for (const [index, text] of nodes.entries()) {
      assertEquals(text.includes("session with the orchestrator had to end"), false, text);
      if (aheads[index] === 0) assertEquals(/The clock of this machine/.test(text), false, text);
      else {
        const side = aheads[index]! < 0 ? "behind" : "ahead of";
        assertMatch(
          text,
          new RegExp(`The clock of this machine \\(\\S+ \\S+ UTC\\) is .* ${side} the orchestrator's \\(`),
        );
      }
    }
    assertEquals(hub.split(/The clock of 5\w+ says/).length - 1 >= 4, true, hub);
  });
});

Deno.test("Clocks: an orchestrator whose clock alone is wrong says that it is its own", async () => {
  await withScratchFolder(async (folder) => {
    const { hub } = await train(folder, [3, 3, 3].map((minutes) => minutes * minuteMs));
    assertStringIncludes(hub, "The clock of this machine is probably wrong");
  });
});
