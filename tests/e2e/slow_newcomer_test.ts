/** A newcomer on a line of 25 kB/s, on which its stage takes longer to fetch than a round takes to train. */

import { assert, assertEquals } from "@std/assert";
import { createHotkey } from "../../chain/wallet/hotkey_files.ts";
import { ShapedLink } from "../../cli/swarm/shaped_link.ts";
import { systemRandom, systemTimers } from "../../net/timers.ts";
import { IotaProcess, type Line } from "../support/process/iota_process.ts";
import { withScratchFolder } from "../support/scratch_folder.ts";

const bytesPerMs = 25; // 25 kB/s: 0.2 Mbit/s
// A merge takes 2 s on it, its stage 8 s and more; a round takes 3.5 s or more, however fast this machine is.
const others = { delayMs: 25, bytesPerMs: Infinity };

Deno.test("Slow newcomer: at 25 kB/s it keeps its assignment, catches up with the merges and trains", async () => {
  await withScratchFolder(async (folder) => {
    await Deno.writeTextFile(
      `${folder}/run.toml`,
      `size = "toy"\n[pipeline]\nstages = 1\n[swarm]\nreplicas = 1\n[outer]\npayload = "int8"\n[train]\nsteps = 100000\nstepsPerRound = 40\n`,
    );
    const hub = new IotaProcess([
      "orchestrate",
      "--config",
      `${folder}/run.toml`,
      "--port",
      "0",
      "--data",
      `${folder}/run`,
      "--json",
    ]);
    const { listensAt } = await hub.lines.next("listening") as Line & { listensAt: string };
    const port = Number(listensAt.split(":").at(-1));
    const join = async (name: string, at: number) => {
      const { pair } = await createHotkey({ folder: `${folder}/wallets`, wallet: name, hotkey: "default" });
      const wallet = ["--wallet", name, "--wallet-path", `${folder}/wallets`, "--data", `${folder}/${name}`];
      const place = ["--orchestrator", `ws://127.0.0.1:${at}`, "--device", "cpu", "--json"];
      return { address: pair.address, process: new IotaProcess(["miner", ...wallet, ...place]) };
    };
    const lineOf = (shape: { delayMs: number; bytesPerMs: number }) =>
      new ShapedLink({
        target: { hostname: "127.0.0.1", port },
        shape: { ...shape, jitterMs: 0, resetMs: Infinity },
        timers: systemTimers,
        random: systemRandom,
      });
    const usual = lineOf(others);
    const first = await join("first", usual.port);
    await hub.lines.next("checkpointWritten");
    const line = lineOf({ delayMs: 20, bytesPerMs });
    const slow = await join("slow", line.port);
    await slow.process.lines.next("stepApplied");
    for (const each of [first.process, slow.process]) each.kill("SIGKILL");
    hub.kill("SIGINT");
    await Promise.all([hub.ended, first.process.ended, slow.process.ended]);
    for (const each of [usual, line]) each.close();
    const mine = (type: string) => hub.lines.all.filter((each) => each.type === type && each["node"] === slow.address);
    const [assigned, ready] = [mine("nodeAssigned"), mine("nodeReady")];
    assertEquals(assigned.length, 1, "it keeps its assignment");
    assert(Number(ready[0]!["round"]) > Number(assigned[0]!["round"]), "rounds went by meanwhile");
    assert(slow.process.lines.all.some((each) => each.type === "notice" && each["about"] === "behind"));
    assertEquals(mine("faultSeen"), []);
  });
});
