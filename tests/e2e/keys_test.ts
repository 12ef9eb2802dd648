/** Keys in a real terminal: a run and a miner are watched, paused and stopped, and the terminal is as it was. */

import { assertEquals, assertMatch } from "@std/assert";
import { IotaProcess } from "../support/process/iota_process.ts";
import { noTerminal, TerminalProcess } from "../support/process/terminal_process.ts";
import { withScratchFolder } from "../support/scratch_folder.ts";
import { testWhere } from "../support/test_where.ts";

const toy = ["--size", "toy", "--set", "pipeline.stages=1", "--replicas", "1", "--steps", "100000", "--device", "cpu"];

testWhere(
  noTerminal,
  "Keys: a swarm's screen has help and details, pauses the run, and stops when q is pressed twice",
  async () => {
    await withScratchFolder(async (folder) => {
      const swarm = new TerminalProcess(["swarm", ...toy, "--data", `${folder}/run`]);
      await swarm.until(/round 2 of/);
      await swarm.press("?");
      await swarm.until(/Ctrl-C\s+stop in order/);
      await swarm.press("d");
      await swarm.until(/fewer details/);
      await swarm.press("p");
      await swarm.until(/paused by its owner/);
      await swarm.press("p");
      await swarm.until(/training/);
      await swarm.press("q");
      await swarm.until(/Press q once more to stop/);
      for (let frames = 0; frames < 4; frames++) await swarm.until(/step +\d+ of/); // the question can have been read
      await swarm.press("q");
      assertEquals(await swarm.close(), 0, "a person's own stop is not a failure");
      assertMatch(swarm.text, /resume with: iota swarm --data/);
      assertMatch(swarm.text, /finished +no/);
      assertMatch(swarm.text, / icanon/);
    });
  },
);

testWhere(
  noTerminal,
  "Keys: a miner's screen says what it does; p rests and resumes it, Ctrl-C stops it as ever",
  async () => {
    await withScratchFolder(async (folder) => {
      const wallets = `${folder}/wallets`;
      const made = await new IotaProcess(["wallet", "new", "--name", "hot", "--wallet-path", wallets]).ended;
      assertEquals(made.code, 0, made.stderr);
      const hubWords = toy.slice(0, -2); // it computes nothing
      const hub = new IotaProcess(["orchestrate", ...hubWords, "--port", "0", "--data", `${folder}/hub`, "--json"]);
      const { url } = await hub.lines.next("listening");
      const words = [
        "--orchestrator",
        String(url),
        "--wallet",
        "hot",
        "--wallet-path",
        wallets,
        "--data",
        `${folder}/m`,
      ];
      const miner = new TerminalProcess(["miner", ...words, "--device", "cpu"]);
      await miner.until(/working · stage 0, round [1-9]/);
      await miner.press("p");
      await miner.until(/paused: by hand/);
      await miner.press("p");
      await miner.until(/working · stage 0/);
      await miner.press("\x03");
      assertEquals(await miner.close(), 1);
      assertMatch(miner.text, /reason +interrupted/);
      assertMatch(miner.text, / icanon/);
      hub.kill("SIGTERM");
      assertEquals((await hub.ended).code, 0);
    });
  },
);
