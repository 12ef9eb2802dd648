/** A stage's only miner gets SIGTERM in the middle of a round: real processes. Its accepted steps are merged before it goes. */

import { assert, assertEquals } from "@std/assert";
import { createHotkey } from "../../chain/wallet/hotkey_files.ts";
import { IotaProcess, type Line } from "../support/process/iota_process.ts";
import { withScratchFolder } from "../support/scratch_folder.ts";

const run = [
  ...["--size", "toy", "--stages", "2", "--replicas", "1", "--validators", "0", "--steps", "60"],
  ...["--set", "train.stepsPerRound=30", "--port", "0", "--json"],
];

Deno.test("Sole replica: on SIGTERM its steps of the round are merged, and its successor goes on from there", async () => {
  await withScratchFolder(async (folder) => {
    const hub = new IotaProcess(["orchestrate", ...run, "--data", `${folder}/hub`]);
    const { url } = await hub.lines.next("listening") as Line & { url: string };
    const wallets = `${folder}/wallets`;
    const start = async (wallet: string) => {
      await createHotkey({ folder: wallets, wallet, hotkey: "default" });
      const place = ["--orchestrator", url, "--wallet", wallet, "--wallet-path", wallets, "--data", folder];
      return new IotaProcess(["miner", ...place, "--device", "cpu", "--json"]);
    };
    const leaver = await start("miner-0");
    const stayer = await start("miner-1");
    for (let step = 0; step < 5;) step = Number((await hub.lines.next("stepClosed"))["step"]);
    leaver.kill("SIGTERM");
    const early = await hub.lines.next("roundEndsEarly");
    const left = await leaver.ended;
    assertEquals(left.code, 0, left.stderr);
    assertEquals(leaver.lines.all.find(({ type }) => type === "handedIn")?.["isMerged"], true);
    const successor = await start("miner-2");
    const { code, stderr } = await hub.ended;
    assertEquals(code, 0, stderr);
    for (const node of [stayer, successor]) assertEquals((await node.ended).code, 0);

    const lines = hub.lines.all;
    assert(Number(early["step"]) < 30, "in the middle of the round");
    assertEquals(lines.find(({ type }) => type === "nodeLost")?.["tasksLost"], undefined);
    const closed = lines.filter(({ type }) => type === "stepClosed");
    assertEquals(closed.map((line) => line["step"]), Array.from({ length: 60 }, (_, i) => i + 1), "each step once");
    const lossAt = (step: number) => Number(closed.find((line) => line["step"] === step)!["loss"]);
    const last = Number(early["step"]);
    assert(lossAt(last + 1) < (lossAt(1) + lossAt(last)) / 2, "the loss goes on from where it was, not from the start");
    const { gradientsLost, finished } = lines.at(-1)!;
    assertEquals([gradientsLost, finished], [0, true]);
  });
});
