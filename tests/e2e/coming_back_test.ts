/**
 * Terminals opened in any order, and an orchestrator that goes away in every way there is: real processes and signals. Miners and
 * validators are started once and never touched; the orchestrator comes back with the very command it was begun with.
 */

import { assert, assertEquals, assertMatch } from "@std/assert";
import { createHotkey } from "../../chain/wallet/hotkey_files.ts";
import { iota, IotaProcess, type Line } from "../support/process/iota_process.ts";
import { withScratchFolder } from "../support/scratch_folder.ts";
import { stepWhere } from "../support/test_where.ts";
import { startUserServices, type UserServices } from "../support/process/user_services.ts";

function freePort(): number {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  listener.close();
  return port;
}

/** A run with one miner and one validator, so that three terminals are all of it. */
class Terminals {
  readonly #folder: string;
  readonly #port = freePort();
  readonly config: string;

  constructor(folder: string) {
    this.#folder = folder;
    this.config = `${folder}/run.toml`;
  }

  get address(): string {
    return `ws://127.0.0.1:${this.#port}`;
  }

  async write(train: string): Promise<void> {
    const text = `size = "toy"\n[pipeline]\nstages = 1\n[swarm]\nreplicas = 1\n[train]\n${train}\n`;
    await Deno.writeTextFile(this.config, text);
  }

  /** What the owner of the run types, each time. */
  get words(): string[] {
    const place = ["--port", `${this.#port}`, "--data", `${this.#folder}/run`];
    return ["orchestrate", "--config", this.config, ...place];
  }

  hub(): IotaProcess {
    return new IotaProcess([...this.words, "--json"]);
  }

  async node(role: "miner" | "validate", ...words: string[]): Promise<IotaProcess> {
    const wallets = `${this.#folder}/wallets`;
    await createHotkey({ folder: wallets, wallet: role, hotkey: "default" });
    const wallet = ["--wallet", role, "--wallet-path", wallets, "--data", `${this.#folder}/${role}`];
    const place = ["--orchestrator", this.address, "--device", "cpu", "--json"];
    return new IotaProcess([role, ...wallet, ...place, ...words]);
  }
}

async function endsFinished(processes: readonly IotaProcess[]): Promise<void> {
  for (const each of processes) {
    const { code, stderr } = await each.ended;
    assertEquals([code, each.lines.all.at(-1)!["finished"]], [0, true], stderr);
  }
}

Deno.test("Coming back: a miner and a validator that were started before their orchestrator wait for it and train", async () => {
  await withScratchFolder(async (folder) => {
    const terminals = new Terminals(folder);
    await terminals.write("steps = 10");
    const miner = await terminals.node("miner");
    const { reason } = await miner.lines.next("waiting") as Line & { reason: string };
    assertMatch(reason, /Cannot reach the orchestrator at .*ECONNREFUSED/);
    const validator = await terminals.node("validate");
    await validator.lines.next("waiting");
    await endsFinished([terminals.hub(), miner, validator]);
    assertEquals(miner.lines.count("offline"), 0, "it never had a link that it lost");
  });
});

Deno.test("Coming back: nodes find the orchestrator, in whatever order the roles start", async () => {
  await withScratchFolder(async (folder) => {
    const terminals = new Terminals(folder);
    await terminals.write("steps = 10");
    const validator = await terminals.node("validate");
    await validator.lines.next("waiting");
    const hub = terminals.hub();
    await hub.lines.next("nodeJoined");
    await endsFinished([hub, await terminals.node("miner"), validator]);
  });
});

Deno.test("Coming back: --give-up-after ends a node that no orchestrator lets in, with the right reason", async () => {
  await withScratchFolder(async (folder) => {
    const terminals = new Terminals(folder);
    const miner = await terminals.node("miner", "--give-up-after", "1s");
    const { code, stderr } = await miner.ended;
    assertEquals(code, 1, stderr);
    assertMatch(stderr, /did not admit this node in \S+ m?s \(--give-up-after\)\. .*ECONNREFUSED/);
    assertMatch(stderr, /next {2}Check the address.*without --give-up-after this node waits/);
    const wrong = await (await terminals.node("validate", "--give-up-after", "soon")).ended;
    assertEquals(wrong.code, 2);
    assertMatch(wrong.stderr, /--give-up-after must be a number with a unit.*'soon'/);
  });
});

Deno.test("Coming back: an orchestrator that cannot read its subnet yet is waited for, and quoted", async () => {
  await withScratchFolder(async (folder) => {
    const terminals = new Terminals(folder);
    await terminals.write(`steps = 10\n[chain]\nnetwork = "ws://127.0.0.1:${freePort()}"`);
    const hub = terminals.hub();
    await hub.lines.next("listening");
    const miner = await terminals.node("miner");
    const { reason } = await miner.lines.next("waiting") as Line & { reason: string };
    assertMatch(
      reason,
      /Cannot admit anyone yet: the orchestrator cannot reach the chain with subnet 9 of ws:\S+; try again/,
    );
    const hasty = await (await terminals.node("validate", "--give-up-after", "0")).ended;
    assertEquals(hasty.code, 1);
    assertMatch(hasty.stderr, /did not admit this node at the first attempt.*\. Cannot admit anyone yet/);
    for (const each of [miner, hub]) {
      each.kill("SIGTERM");
      assertEquals((await each.ended).code, 0);
    }
  });
});

const nodes = ["miner", "validate"] as const;

Deno.test("Coming back: after Ctrl-C, SIGTERM and kill -9 the same command resumes at the same step, and no node is affected", async () => {
  await withScratchFolder(async (folder) => {
    const terminals = new Terminals(folder);
    await terminals.write("steps = 100000\nstepsPerRound = 20");
    const [miner, validator] = await Promise.all(nodes.map((role) => terminals.node(role))) as [
      IotaProcess,
      IotaProcess,
    ];
    let hub = terminals.hub();
    for (const signal of ["SIGINT", "SIGTERM", "SIGKILL"] as const) {
      const closed = await hub.lines.take("stepClosed", 5);
      hub.kill(signal);
      await hub.ended;
      await Promise.all([miner, validator].map((node) => node.lines.next("waiting")));
      const last = hub.lines.all.findLast((line) => line.type === "stepClosed") ?? closed[0]!;
      hub = terminals.hub();
      await hub.lines.next("listening");
      const listeningMs = Date.now();
      const { step } = await hub.lines.next("resumed") as Line & { step: number };
      const ahead = step - Number(last["step"]);
      assert(ahead === 0 || (ahead === 1 && signal === "SIGKILL"), `${signal}: ${ahead} steps ahead of what was said`);
      const backMs = await Promise.all([
        miner.lines.next("kept").then(() => Date.now() - listeningMs),
        validator.lines.next("welcomed").then(() => Date.now() - listeningMs),
      ]);
      console.log(
        `  ${signal}: at step ${step}; miner back ${backMs[0]} ms, validator ${backMs[1]} ms after the port opened`,
      );
    }
    await hub.lines.next("stepClosed");
    hub.kill("SIGINT");
    await hub.ended;
    const { step } = hub.lines.all.findLast(({ type }) => type === "stepClosed")!; // it may have gone on meanwhile
    await terminals.write(`steps = ${Number(step) + 20}\nstepsPerRound = 20`);
    const end = terminals.hub();
    await endsFinished([end, miner, validator]);
    const { microbatchesLost, orchestratorRestarts } = end.lines.all.at(-1)!;
    assertEquals([microbatchesLost, orchestratorRestarts], [0, 4]);
    assertEquals(miner.lines.count("stageLoaded"), 1, "it kept what it held through every disconnect");

    const over = await iota(terminals.words);
    assertEquals(over.code, 0, over.stderr);
    assertMatch(
      over.stdout,
      /is over: step \d+ of \d+ is done\. Its model: \S+\/checkpoints\/round-\d+\nMore steps: iota /,
    );
  });
});

async function output(command: string, args: readonly string[], env: Record<string, string>): Promise<string> {
  const { stdout } = await new Deno.Command(command, { args: [...args], env, stderr: "null" }).output();
  return new TextDecoder().decode(stdout).trim();
}

async function checkService(folder: string, manager: UserServices): Promise<void> {
  const terminals = new Terminals(folder);
  await terminals.write("steps = 100000\nstepsPerRound = 20");
  const env = { HOME: `${folder}/home`, ...manager.env };
  const show = (property: string) =>
    output("systemctl", ["--user", "show", "--value", "-p", property, "iota-orchestrate.service"], env);
  const installed = await iota(["service", "install", "--", ...terminals.words], env);
  assertEquals(installed.code, 0, installed.stderr);
  const members = await Promise.all(nodes.map((role) => terminals.node(role))) as [IotaProcess, IotaProcess];
  const [miner, validator] = members;
  await miner.lines.next("stageLoaded");
  await validator.lines.next("welcomed");
  const disturb = {
    "kill -9": async () => Deno.kill(Number(await show("MainPID")), "SIGKILL"),
    "systemctl restart": () => output("systemctl", ["--user", "restart", "iota-orchestrate.service"], env),
  };
  for (const [name, act] of Object.entries(disturb)) {
    await miner.lines.next("roundMerged");
    const actedMs = Date.now();
    await act();
    await Promise.all([miner.lines.next("kept"), validator.lines.next("welcomed")]);
    console.log(
      `  ${name}: both are back ${((Date.now() - actedMs) / 1000).toFixed(1)} s after it, RestartSec= included`,
    );
  }
  const { round } = await miner.lines.next("roundMerged") as Line & { round: number };
  await terminals.write(`steps = ${20 * (round + 2)}\nstepsPerRound = 20`);
  await disturb["systemctl restart"]();
  const pid = await show("MainPID");
  await endsFinished(members);
  await output("tail", [`--pid=${pid}`, "-f", "/dev/null"], env);
  assertEquals(
    [await show("ActiveState"), await show("Result")],
    ["inactive", "success"],
    "a run that is over stays over",
  );
  assertEquals((await iota(["service", "remove", "--name", "orchestrate"], env)).code, 0);
}

Deno.test("Coming back: as a service", async (t) => {
  await withScratchFolder(async (folder) => {
    const home = `${folder}/home`;
    await Deno.mkdir(home);
    const manager = await startUserServices({ home, folder: `${folder}/runtime` });
    const name = "killed and restarted it goes on by itself, the nodes untouched, and after the end it stays ended";
    if (typeof manager === "string") return await stepWhere(t, manager, name, () => {});
    try {
      await stepWhere(t, null, name, () => checkService(folder, manager));
    } finally {
      await manager.stop();
    }
  });
});

Deno.test("Coming back: an orchestrator whose journal and checkpoints are gone says how far the run had come", async () => {
  await withScratchFolder(async (folder) => {
    const terminals = new Terminals(folder);
    await terminals.write("steps = 10000\nstepsPerRound = 2");
    const miner = await terminals.node("miner");
    const first = terminals.hub();
    await first.lines.next("checkpointWritten");
    first.kill("SIGKILL");
    await first.ended;
    for await (const { name } of Deno.readDir(`${folder}/run`)) {
      if (name.startsWith("journal.db") || name === "checkpoints") {
        await Deno.remove(`${folder}/run/${name}`, { recursive: true });
      }
    }
    const second = terminals.hub();
    const { text } = await second.lines.next("warning") as Line & { text: string };
    assertMatch(
      text,
      /^The run had reached step \d+, but '.*run' has neither its journal nor a checkpoint: it begins again at step 0; /,
    );
    await second.lines.next("stepClosed");
    for (const each of [second, miner]) {
      each.kill("SIGINT");
      await each.ended;
    }
  });
});
