/**
 * `iota doctor` as a person calls it: a real process on machines with something missing. The world around it is made of files,
 * ports and environment variables; what answers with a wrong clock is a server of the test's own.
 */

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { iota, IotaProcess, type Line } from "../support/process/iota_process.ts";
import { withScratchFolder } from "../support/scratch_folder.ts";

interface Diagnosis {
  readonly code: number;
  readonly findings: ReadonlyMap<string, Line>;
  readonly summary: Line;
  readonly printed: string;
}

const noDevice = ["--skip", "adapter,size,speed,numbers"];

async function doctor(folder: string, words: readonly string[], env: Record<string, string> = {}): Promise<Diagnosis> {
  const data = words.includes("--data") ? [] : ["--data", folder];
  const { code, stdout, stderr } = await iota(["doctor", ...words, ...data, "--json"], { HOME: folder, ...env });
  const lines = stdout.trim().split("\n").map((line) => JSON.parse(line) as Line);
  const findings = lines.filter(({ type }) => type === "finding");
  const summary = lines.at(-1)!;
  assertEquals(summary.type, "summary", stdout + stderr);
  assertEquals(code, summary["level"] === "wrong" ? 1 : 0, "scripts go by the exit code");
  return {
    code,
    findings: new Map(findings.map((line) => [String(line["name"]), line])),
    summary,
    printed: stdout + stderr,
  };
}

function finding({ findings, printed }: Diagnosis, name: string): Line {
  const found = findings.get(name);
  assert(found !== undefined, `${name} in ${printed}`);
  const needsFix = found["level"] === "wrong" || found["level"] === "warning";
  assertEquals(typeof found["fix"], needsFix ? "string" : "undefined", `${name}: a fix where there is something to do`);
  return found;
}

/** What an orchestrator says at /status, by a clock that is `aheadMs` ahead; null: a page of another kind. */
async function withServer(
  answer: { status: Record<string, unknown> | null; aheadMs: number; sockets: boolean },
  body: (url: string) => Promise<void>,
): Promise<void> {
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, (request) => {
    const headers = { date: new Date(Date.now() + answer.aheadMs).toUTCString() };
    if (request.headers.get("upgrade") === "websocket" && answer.sockets) {
      return Deno.upgradeWebSocket(request).response;
    }
    return answer.status === null ? new Response("hello", { headers }) : Response.json(answer.status, { headers });
  });
  try {
    await body(`ws://127.0.0.1:${server.addr.port}`);
  } finally {
    await server.shutdown();
  }
}

const status = { name: "demo", size: "tiny", phase: "training", step: 12, steps: 300, round: 1, nodes: 3 };

Deno.test("iota doctor: a bare machine gets its findings, missing names are not errors, nothing is left behind", async () => {
  await withScratchFolder(async (folder) => {
    const diagnosis = await doctor(folder, noDevice);
    assertEquals([diagnosis.code, diagnosis.summary["wrong"]], [0, 0], diagnosis.printed);
    for (const name of ["program", "memory", "disk", "open files"]) finding(diagnosis, name);
    for (const name of ["wallet", "chain"]) assertEquals(finding(diagnosis, name)["level"], "skipped");
    assertEquals([...Deno.readDirSync(folder)], []);
  });
});

Deno.test("iota doctor: without an adapter it finds the processor, and says that a GPU earns more", async () => {
  await withScratchFolder(async (folder) => {
    const env = {
      VK_ICD_FILENAMES: "/nonexistent.json",
      VK_DRIVER_FILES: "/nonexistent.json",
      DENO_WEBGPU_BACKEND: "vulkan",
    };
    const diagnosis = await doctor(folder, [], env);
    const adapter = finding(diagnosis, "adapter");
    assertEquals([diagnosis.code, adapter["level"]], [0, "warning"]);
    assertMatch(String(adapter["text"]), /^processor \(.*\): no GPU was found$/);
    assertStringIncludes(String(adapter["fix"]), "use a GPU with its Vulkan driver");
    for (const name of ["size", "speed"]) assertEquals(finding(diagnosis, name)["level"], "good");
    const gpu = finding(await doctor(folder, ["--device", "gpu"], env), "adapter");
    assertEquals(gpu["level"], "wrong");
    assertStringIncludes(String(gpu["fix"]), "--device cpu");
    const processor = finding(await doctor(folder, ["--device", "cpu"], env), "adapter");
    assertStringIncludes(String(processor["text"]), "processor (WebAssembly SIMD)");
  });
});

Deno.test("iota doctor: a data folder that cannot be written is wrong", async () => {
  await withScratchFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/file`, "");
    const diagnosis = await doctor(folder, [...noDevice, "--data", `${folder}/file/data`]);
    assertEquals([diagnosis.code, finding(diagnosis, "disk")["level"]], [1, "wrong"]);
  });
});

Deno.test("iota doctor: an orchestrator that is not there, or is something else, is wrong", async () => {
  await withScratchFolder(async (folder) => {
    const free = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const url = `ws://127.0.0.1:${free.addr.port}`;
    free.close();
    const dead = await doctor(folder, [...noDevice, "--orchestrator", url]);
    assertEquals([dead.code, finding(dead, "orchestrator")["level"]], [1, "wrong"]);
    assertStringIncludes(String(finding(dead, "orchestrator")["text"]), "nothing listens there");
    await withServer({ status: null, aheadMs: 0, sockets: true }, async (url) => {
      const other = finding(await doctor(folder, [...noDevice, "--orchestrator", url]), "orchestrator");
      assertStringIncludes(String(other["text"]), "is not an orchestrator");
    });
    await withServer({ status, aheadMs: 0, sockets: false }, async (url) => {
      const proxy = finding(await doctor(folder, [...noDevice, "--orchestrator", url]), "orchestrator");
      assertStringIncludes(String(proxy["fix"]), "WebSocket upgrades");
    });
  });
});

Deno.test("iota doctor: something that takes the connection and never answers does not hold it up", async () => {
  await withScratchFolder(async (folder) => {
    using silent = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const url = `ws://127.0.0.1:${silent.addr.port}`;
    const words = [...noDevice, "--orchestrator", url, "--chain", url, "--timeout", "0.5"];
    const diagnosis = await doctor(folder, words);
    assertEquals([diagnosis.code, diagnosis.findings.size], [1, 8], diagnosis.printed);
    for (const name of ["orchestrator", "chain"]) assertEquals(finding(diagnosis, name)["level"], "wrong");
    assertEquals(finding(diagnosis, "clock")["level"], "skipped");
    assert(Number(diagnosis.summary["wallMs"]) < 5_000, diagnosis.printed);
  });
});

Deno.test("iota doctor: a wrong clock is detected from the orchestrator's answer", async () => {
  await withScratchFolder(async (folder) => {
    const levelAt = async (aheadMs: number): Promise<Line> => {
      let clock: Line | null = null;
      await withServer({ status, aheadMs, sockets: true }, async (url) => {
        const diagnosis = await doctor(folder, [...noDevice, "--orchestrator", url]);
        assertEquals(finding(diagnosis, "orchestrator")["level"], "good", diagnosis.printed);
        clock = finding(diagnosis, "clock");
      });
      return clock!;
    };
    assertEquals((await levelAt(0))["level"], "good");
    assertEquals((await levelAt(20_000))["level"], "warning");
    const hour = await levelAt(3_600_000);
    assertEquals(hour["level"], "wrong");
    assertMatch(String(hour["text"]), /behind the orchestrator: signed requests are refused/);
  });
});

Deno.test("iota doctor: wallets that are missing, open to others or broken", async () => {
  await withScratchFolder(async (folder) => {
    const check = async () => await doctor(folder, [...noDevice, "--wallet", "miner"]);
    const missing = finding(await check(), "wallet");
    const fix = `Make one: iota wallet new --name miner --wallet-path ${folder}/wallets`;
    assertEquals([missing["level"], missing["fix"]], ["wrong", fix]);
    assertEquals((await iota(["wallet", "new", "--name", "miner", "--data", folder, "--json"])).code, 0);
    const path = `${folder}/wallets/miner/hotkeys/default`;
    assertEquals(finding(await check(), "wallet")["level"], "good");
    await Deno.chmod(path, 0o644);
    const open = finding(await check(), "wallet");
    assertEquals([open["level"], open["fix"]], ["warning", `Make it private: chmod 600 '${path}'`]);
    await Deno.writeTextFile(path, "{}");
    const broken = await check();
    assertEquals([broken.code, finding(broken, "wallet")["level"]], [1, "wrong"]);
    assertStringIncludes(String(finding(broken, "wallet")["fix"]), "iota wallet regen");
  });
});

Deno.test("iota doctor: a chain of this machine, and a hotkey that it does not know", async () => {
  await withScratchFolder(async (folder) => {
    const words = ["chain", "local", "--port", "0", "--block-ms", "200", "--data", `${folder}/chain`, "--json"];
    const chain = new IotaProcess(words);
    try {
      const url = String((await chain.lines.next("chainServed"))["endpoint"]);
      await iota(["wallet", "new", "--name", "miner", "--data", folder, "--json"]);
      const asked = await doctor(folder, [...noDevice, "--chain", url, "--wallet", "miner"]);
      const found = finding(asked, "chain");
      assertEquals([asked.code, found["level"], found["netuid"], found["uid"]], [0, "warning", 9, null], asked.printed);
      assertStringIncludes(String(found["fix"]), "iota chain register --netuid 9");
      assertEquals(finding(asked, "clock")["level"], "good");
      await Deno.writeTextFile(`${folder}/run.toml`, `[chain]\nnetwork = "${url}"\nnetuid = 77\n`);
      const other = await doctor(folder, [...noDevice, "--config", `${folder}/run.toml`]);
      assertEquals([other.code, finding(other, "config")["level"], finding(other, "chain")["level"]], [
        1,
        "good",
        "wrong",
      ]);
    } finally {
      chain.kill("SIGINT");
      await chain.ended;
    }
  });
});

Deno.test("iota doctor: a node's file names what to check, and a broken one is a finding", async () => {
  await withScratchFolder(async (folder) => {
    const path = `${folder}/miner.toml`;
    await Deno.writeTextFile(path, 'orchestrator = "ws://127.0.0.1:1"\nwallet = "cold"\nlisten = "0.0.0.0:9"\n');
    const node = await doctor(folder, [...noDevice, "--config", path]);
    assertEquals(finding(node, "config")["level"], "good");
    assertStringIncludes(String(finding(node, "orchestrator")["text"]), "ws://127.0.0.1:1");
    assertStringIncludes(String(finding(node, "wallet")["text"]), "wallets/cold/");
    await Deno.writeTextFile(path, "[train]\nsteps = 0\n");
    const broken = await doctor(folder, [...noDevice, "--config", path]);
    assertStringIncludes(String(finding(broken, "config")["fix"]), `iota config check ${path}`);
    assertEquals(finding(broken, "disk")["level"], "good");
  });
});

Deno.test("iota doctor: people get calm lines of at most 100 columns, and a closing word", async () => {
  await withScratchFolder(async (folder) => {
    const { code, stdout, stderr } = await iota(["doctor", ...noDevice, "--data", folder], { HOME: folder });
    assertEquals([code, stderr], [0, ""]);
    assertMatch(stdout, /^● program +iota /);
    assertMatch(stdout, /\nReady(, with \d warnings?)?\.\n$/);
    for (const line of stdout.split("\n")) assert([...line].length <= 100, line);
    const words = ["doctor", ...noDevice, "--data", folder, "--wallet", "none", "--quiet"];
    const quiet = await iota(words, { HOME: folder });
    assertMatch(quiet.stdout, /^× wallet [^●·]*\nNot ready: 1 problem to fix.*\n$/s);
  });
});
