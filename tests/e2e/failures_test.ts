/** What can go wrong around a swarm: each gets a clear sentence with the next step, a clean exit, and a sound folder. */

import { assert, assertEquals, assertMatch } from "@std/assert";
import { iota, IotaProcess } from "../support/process/iota_process.ts";
import { withScratchFolder } from "../support/scratch_folder.ts";
import { testWhere } from "../support/test_where.ts";

const toy = ["--size", "toy", "--device", "cpu"];

async function check(
  words: readonly string[],
  expected: { code: number; says: RegExp; env?: Record<string, string> },
): Promise<void> {
  const { code, stderr, stdout } = await iota(words, expected.env);
  assertMatch(stderr, expected.says, stdout);
  assert(!/\bat (file|async|Object)/.test(stderr), `no stack trace for a person's mistake: ${stderr}`);
  assertEquals(code, expected.code, stderr);
}

Deno.test("Failures: an unreachable orchestrator is named with its address and what to check", async () => {
  await withScratchFolder(async (folder) => {
    const wallet = ["--wallet", "hot", "--wallet-path", `${folder}/wallets`];
    await iota(["wallet", "new", "--name", "hot", "--wallet-path", `${folder}/wallets`]);
    const words = ["miner", "--orchestrator", "ws://127.0.0.1:9", ...wallet, "--device", "cpu"];
    const says = /The orchestrator at 'ws:\/\/127\.0\.0\.1:9' did not admit this node at the first attempt[\s\S]*next/;
    await check([...words, "--give-up-after", "0"], { code: 1, says });
  });
});

Deno.test("Failures: a taken port is named with the way out", async () => {
  const taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  try {
    await withScratchFolder(async (folder) => {
      const port = `${taken.addr.port}`;
      const says = new RegExp(`Cannot listen on 127.0.0.1:${port}: the port is in use`);
      await check(["swarm", ...toy, "--port", port, "--data", folder], { code: 1, says });
    });
  } finally {
    taken.close();
  }
});

Deno.test("Failures: every wrong setting of a file is named with its line", async () => {
  await withScratchFolder(async (folder) => {
    const path = `${folder}/run.toml`;
    await Deno.writeTextFile(path, '[train]\nlearningRat = 1\nsteps = "x"\n[model]\nwidth = 33\n');
    const { code, stderr } = await iota(["orchestrate", "--config", path, "--data", `${folder}/run`]);
    assertEquals(code, 1);
    assertMatch(stderr, /run\.toml:2: .*train\.learningRat.*did you mean train\.learningRate/);
    assertMatch(stderr, /run\.toml:3: train\.steps must be a whole number/);
    assertMatch(stderr, /run\.toml:5: model\.width must be a multiple of 32, and is 33/);
  });
});

Deno.test("Failures: a log in a folder that is not there says what makes it, and that works", async () => {
  await withScratchFolder(async (folder) => {
    const log = `${folder}/my logs/x.log`;
    const words = ["miner", "--orchestrator", "ws://127.0.0.1:9", "--data", `${folder}/data`, "--log-file", log];
    const { code, stderr } = await iota(words);
    assertEquals(code, 1);
    assertMatch(stderr, /Cannot open the log '.*\/my logs\/x\.log': its folder does not exist/);
    const next = /mkdir -p .*/.exec(stderr)![0];
    assertEquals((await new Deno.Command("sh", { args: ["-c", next] }).output()).success, true);
    await check(words, { code: 1, says: /Cannot load a key/ });
  });
});

Deno.test("Failures: a data folder that is a file or a device is rejected", async () => {
  await withScratchFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/file`, "");
    for (const data of [`${folder}/file`, "/dev/null"]) {
      const says = new RegExp(`Cannot use '${data}' as the data folder: it is not a folder`);
      await check(["miner", "--orchestrator", "ws://127.0.0.1:9", "--data", data], { code: 1, says });
      await check(["orchestrate", "--size", "toy", "--data", data], { code: 1, says });
    }
    if (Deno.build.os !== "linux") return; // others have no such device
    const says = /Cannot open the log '.*': this command keeps rights only to/;
    await check(["miner", "--data", `${folder}/own`, "--log-file", "/dev/full"], { code: 1, says });
  });
});

Deno.test("Failures: half a TLS pair in [hub] is named with its line, before anything is written", async () => {
  await withScratchFolder(async (folder) => {
    const path = `${folder}/run.toml`;
    await Deno.writeTextFile(path, 'size = "toy"\n[hub]\ntlsCert = "cert.pem"\n');
    const says = /run\.toml:3: Cannot use hub\.tlsCert without hub\.tlsKey/;
    await check(["orchestrate", "--config", path, "--data", `${folder}/run`], { code: 1, says });
    assertEquals(Array.from(Deno.readDirSync(folder), ({ name }) => name), ["run.toml"]);
  });
});

Deno.test("Failures: a wrong option is a usage error", async () => {
  await check(["swarm", "--stepz", "3"], { code: 2, says: /--steps/ });
  await check(["swarm", "--steps", "many"], { code: 2, says: /must be a whole number.*but is 'many'/ });
  await check(["swarm", "--set", "train.steps=many"], { code: 2, says: /train\.steps must be/ });
});

Deno.test("Failures: a node's options can be in a file, and a wrong one is reported with its line", async () => {
  await withScratchFolder(async (folder) => {
    const path = `${folder}/miner.toml`;
    await Deno.writeTextFile(path, 'device = "cpu"\nwallett = "hot"\n');
    await check(["miner", "--config", path], { code: 1, says: /miner\.toml:2: .*did you mean wallet\?/ });
    await Deno.writeTextFile(path, 'wallet = "from-the-file"\n');
    const place = ["--wallet-path", `${folder}/wallets`];
    await check(["miner", "--config", path, ...place], { code: 1, says: /from-the-file/ });
    await check(["miner", "--config", path, ...place, "--wallet", "typed"], { code: 1, says: /wallets\/typed/ });
  });
});

Deno.test("Failures: a machine without an adapter says what to install, or what to use instead", async () => {
  await withScratchFolder(async (folder) => {
    const env = {
      VK_ICD_FILENAMES: "/nonexistent.json",
      VK_DRIVER_FILES: "/nonexistent.json",
      DENO_WEBGPU_BACKEND: "vulkan",
    };
    const ways = {
      webgpu: /Cannot open a WebGPU adapter[\s\S]*--device cpu[\s\S]*mesa-vulkan-drivers/,
      gpu: /Cannot open a[\s\S]*--device cpu; if there is a GPU, install its Vulkan driver/,
      software: /Cannot open a software driver[\s\S]*--device cpu[\s\S]*mesa-vulkan-drivers/,
    };
    for (const [device, says] of Object.entries(ways)) {
      await check(["swarm", "--size", "toy", "--device", device, "--data", folder], { code: 1, says, env });
    }
  });
});

Deno.test("Failures: a data folder that cannot be one is named", async () => {
  await withScratchFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/file`, "");
    const says = /Cannot write to the data folder '.*file\/run': /;
    await check(["swarm", ...toy, "--data", `${folder}/file/run`], { code: 1, says });
  });
});

Deno.test("Failures: another run never takes the place of an earlier one without --fresh", async () => {
  await withScratchFolder(async (folder) => {
    const first = new IotaProcess(["orchestrate", "--size", "toy", "--port", "0", "--json", "--data", folder]);
    await first.lines.next("listening");
    await check(["orchestrate", "--data", folder], { code: 1, says: /in use by iota orchestrate, process \d+/ });
    await check(["orchestrate", "--data", folder, "--fresh", "--port", "0"], {
      code: 1,
      says: /it is in use by iota orchestrate, process \d+[\s\S]*Stop the other one first/,
    });
    first.kill("SIGTERM");
    assertEquals((await first.ended).code, 0);
    await check(["orchestrate", "--size", "tiny", "--seed", "7", "--data", folder], {
      code: 2,
      says: /seed must stay 1 .* 7\n.*size must stay "toy"[\s\S]*--fresh/,
    });
    await check(["swarm", "--size", "tiny", "--data", folder], { code: 2, says: /size must stay/ });
  });
});

Deno.test("Failures: an orchestrator on a used port changes nothing on disk", async () => {
  const taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  try {
    await withScratchFolder(async (folder) => {
      const port = ["--port", `${taken.addr.port}`];
      const says = /Cannot listen on 127.0.0.1:\d+: the port is in use/;
      await check(["orchestrate", "--size", "toy", ...port, "--data", `${folder}/new`], { code: 1, says });
      await check(["swarm", ...toy, ...port, "--data", `${folder}/new`], { code: 1, says });
      assertEquals(Array.from(Deno.readDirSync(folder)), [], "no run folder was made");
      await Deno.mkdir(`${folder}/old`);
      await Deno.writeTextFile(`${folder}/old/run.toml`, "kept");
      await check(["swarm", ...toy, ...port, "--fresh", "--data", `${folder}/old`], { code: 1, says });
      assertEquals(await Deno.readTextFile(`${folder}/old/run.toml`), "kept");
    });
  } finally {
    taken.close();
  }
});

Deno.test("Failures: --fresh puts nothing aside if the new text cannot be used, and no driver crashes at the end", async () => {
  await withScratchFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/short.txt`, "too short");
    await Deno.mkdir(`${folder}/old`);
    await Deno.writeTextFile(`${folder}/old/run.toml`, "kept");
    const swarms = [["swarm"], ["swarm"], ["swarm"], ["swarm"]]; // each has opened a driver, if there is one
    for (const command of [...swarms, ["orchestrate", "--port", "0"]]) {
      const fresh = [
        ...command,
        "--size",
        "toy",
        "--corpus",
        `${folder}/short.txt`,
        "--fresh",
        "--data",
        `${folder}/old`,
      ];
      await check(fresh, { code: 1, says: /short\.txt/ });
      assertEquals(await Deno.readTextFile(`${folder}/old/run.toml`), "kept", command[0]);
    }
  });
});

Deno.test("Failures: a damaged run.json or key of the orchestrator is named, and nothing is changed or offered for deletion", async () => {
  await withScratchFolder(async (folder) => {
    const first = new IotaProcess(["orchestrate", "--size", "toy", "--port", "0", "--json", "--data", folder]);
    await first.lines.next("listening");
    first.kill("SIGTERM");
    assertEquals((await first.ended).code, 0);
    const resume = ["orchestrate", "--resume", "--data", folder];
    const damages = [
      {
        file: "run.json",
        change: /"steps": \d/,
        to: '"steps": 9',
        says: /run\.json', which names the run, is damaged/,
      },
      { file: "wallets/orchestrator/hotkeys/default", change: /"0x...../, to: '"0x00000', says: /hotkeys\/default/ },
    ];
    for (const { file, change, to, says } of damages) {
      const path = `${folder}/${file}`;
      const whole = await Deno.readTextFile(path);
      await Deno.writeTextFile(path, whole.replaceAll(new RegExp(change, "g"), to));
      const { code, stderr } = await iota(resume);
      assertEquals(code, 1, stderr);
      assertMatch(stderr, says);
      assert(/next {2}Restore/.test(stderr) && !/--fresh|Unexpected/.test(stderr), stderr);
      await Deno.writeTextFile(path, whole);
    }
    const again = new IotaProcess([...resume, "--json"]);
    await again.lines.next("resumed");
    again.kill("SIGTERM");
    assertEquals((await again.ended).code, 0);
  });
});

const canMount = await mount("/nonexistent-folder-of-a-test") === "no folder";

/** Mounts a small disk on a folder: only root may. */
async function mount(folder: string, size = "2m"): Promise<"mounted" | "no folder" | "refused"> {
  const args = ["-t", "tmpfs", "-o", `size=${size}`, "tmpfs", folder];
  const result = await new Deno.Command("mount", { args, stderr: "piped" }).output().catch(() => null);
  if (result === null) return "refused";
  if (result.success) return "mounted";
  return /does not exist|not exist/.test(new TextDecoder().decode(result.stderr)) ? "no folder" : "refused";
}

const noMount = canMount ? null : "only root can mount a small disk";
/** A disk of a few megabytes that lives as long as `body`. */
async function withDisk(size: string, body: (folder: string) => Promise<void>): Promise<void> {
  await withScratchFolder(async (folder) => {
    assertEquals(await mount(folder, size), "mounted");
    try {
      await body(folder);
    } finally {
      await new Deno.Command("umount", { args: ["--lazy", folder] }).output();
    }
  });
}

async function enlarge(folder: string): Promise<void> {
  const { success } = await new Deno.Command("mount", { args: ["-o", "remount,size=256m", folder] }).output();
  assert(success);
}

testWhere(noMount, "Failures: a disk without room for a run is refused with a sentence before it begins", async () => {
  await withDisk("256k", async (folder) => {
    const says = /error .*disk is full[\s\S]*next .*/;
    await check(["swarm", ...toy, "--steps", "40", "--data", folder], { code: 1, says });
  });
});

testWhere(
  noMount,
  "Failures: a full disk pauses the run with a message; with free space it continues to its end",
  async () => {
    await withDisk("3m", async (folder) => {
      const words = [
        "swarm",
        ...toy,
        "--steps",
        "120",
        "--chain",
        "none",
        "--sample-tokens",
        "0",
        "--json",
        "--data",
        folder,
      ];
      const swarm = new IotaProcess(words);
      const paused = await swarm.lines.next("runPaused");
      assertMatch(
        String(paused["text"]),
        /The run is paused as .* needs about \d+ MiB and the disk is full: make room/,
      );
      await enlarge(folder);
      await swarm.lines.next("runContinued");
      const { code, stderr } = await swarm.ended;
      assertEquals(code, 0, stderr);
      const { type, steps, microbatchesLost, restarts } = swarm.lines.all.at(-1)!;
      assertEquals([type, steps, microbatchesLost, restarts], ["summary", 120, 0, 0]);
      assertEquals(swarm.lines.count("nodeLost"), 0);
    });
  },
);

testWhere(noMount, "Failures: Ctrl-C while the disk is full ends in order", async () => {
  await withDisk("3m", async (folder) => {
    const words = ["swarm", ...toy, "--steps", "4000", "--chain", "none", "--json", "--data", folder];
    const swarm = new IotaProcess(words);
    await swarm.lines.next("runPaused");
    swarm.kill("SIGINT");
    const { code, stderr } = await swarm.ended;
    assertEquals(code, 1, stderr);
    assertEquals(swarm.lines.all.at(-1)!.type, "summary");
    assert(!/\bat (file|async|Object)/.test(stderr), stderr);
  });
});

for (const moment of ["listening", "nodeAssigned", "runStarted", "mergePhase", "checkpointWritten"]) {
  Deno.test(`Failures: Ctrl-C at ${moment} ends cleanly, and the same folder goes on`, async () => {
    await withScratchFolder(async (folder) => {
      const swarm = new IotaProcess(["swarm", ...toy, "--steps", "4000", "--json", "--data", folder]);
      await swarm.lines.next(moment);
      swarm.kill("SIGINT");
      const { code, stderr } = await swarm.ended;
      assertEquals(code, 1, stderr);
      const summary = swarm.lines.all.at(-1)!;
      assertEquals([summary.type, summary["microbatchesLost"]], ["summary", 0]);
      assertMatch(stderr, /resume with: iota swarm --data \S+ --device cpu$/m);
      const steps = (summary["steps"] as number) + 10;
      const words = ["swarm", ...toy, "--steps", `${steps}`, "--sample-tokens", "0", "--data", folder];
      const again = new IotaProcess([...words, "--json"]);
      const ended = await again.ended;
      assertEquals(ended.code, 0, ended.stderr);
      const { steps: stepsDone, checkpoint } = again.lines.all.at(-1)!;
      assertEquals([stepsDone, typeof checkpoint], [steps, "string"]);
      const names = Array.from(Deno.readDirSync(folder), ({ name }) => name);
      assertEquals(names.filter((name) => name.startsWith("put-aside")), [], "nothing had to be put aside");
    });
  });
}

Deno.test("Failures: a terminal's Ctrl-C, which reaches every process, costs nothing of the summary", async () => {
  await withScratchFolder(async (folder) => {
    const words = ["swarm", ...toy, "--steps", "4000", "--json", "--data", folder];
    const swarm = new IotaProcess(words, {}, { ownSession: true });
    await swarm.lines.next("checkpointWritten");
    swarm.interruptAll();
    const { code, stderr } = await swarm.ended;
    assertEquals(code, 1, stderr);
    const { type, microbatchesLost, unigramEntropy, restarts } = swarm.lines.all.at(-1)!;
    assertEquals([type, microbatchesLost, typeof unigramEntropy, restarts], ["summary", 0, "number", 0]);
  });
});
