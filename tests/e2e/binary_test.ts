/**
 * The one-file build, as a person gets it: packed here, then unpacked and run in empty folders with an empty home.
 *
 * The parts of a test share one build, as compressing the runtime takes 10 s where no earlier build left it.
 */

import { assert, assertEquals, assertLess, assertMatch, assertNotEquals, assertStringIncludes } from "@std/assert";
import { type Ended, iota, IotaProcess, type Line } from "../support/process/iota_process.ts";
import { withScratchFolder } from "../support/scratch_folder.ts";
import { stepWhere, testWhere } from "../support/test_where.ts";
import { startUserServices, type UserServices } from "../support/process/user_services.ts";

const root = decodeURIComponent(new URL("../..", import.meta.url).pathname);
const longAgo = new Date(Date.now() - 3 * 24 * 3600 * 1000);
const asset = `iota-${Deno.build.os === "darwin" ? "macos" : "linux"}-${
  Deno.build.arch === "aarch64" ? "arm64" : "x64"
}`;

interface HomeEnvironment extends Record<string, string> {
  readonly HOME: string;
  readonly PATH: string;
  readonly TMPDIR: string;
}

/** A build in a folder with a space in its name, and empty homes to run it in. */
class Build {
  readonly folder: string;
  readonly program: string;
  #homes = 0;

  constructor(folder: string) {
    this.folder = folder;
    this.program = `${folder}/a build/iota`;
  }

  /** A user's environment with its own empty home. */
  home(): HomeEnvironment {
    const home = `${this.folder}/home ${++this.#homes}`;
    Deno.mkdirSync(home);
    return { HOME: home, PATH: Deno.env.get("PATH") ?? "", TMPDIR: this.folder };
  }

  run(words: string[], env: HomeEnvironment, program = this.program): Promise<Ended> {
    return iota(words, env, { program, clearEnv: true, cwd: env.HOME });
  }
}

/** Where the unpacked versions lie, by the rules of the system. */
function cacheOf(env: HomeEnvironment): string {
  return `${env.HOME}/${Deno.build.os === "darwin" ? "Library/Caches" : ".cache"}/iota/runtime`;
}

function namesIn(folder: string): string[] {
  return [...Deno.readDirSync(folder)].map(({ name }) => name).sort();
}

async function sh(script: string, env: Record<string, string> = {}): Promise<{ code: number; text: string }> {
  const path = `${Deno.execPath().replace(/\/[^/]*$/, "")}:${Deno.env.get("PATH") ?? ""}`; // the builds take the Deno of this test
  const command = new Deno.Command("sh", { args: ["-euc", script], cwd: root, env: { ...env, PATH: path } });
  const { code, stdout, stderr } = await command.output();
  return { code, text: new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr) };
}

const noShell = Deno.build.os === "windows" ? "Windows has no shell to unpack with" : null;
testWhere(noShell, "Binary: one file is all it takes", async (t) => {
  await withScratchFolder(async (folder) => {
    const build = new Build(folder);
    const { code, text } = await sh(`.ci/binary --packed --out "${build.program}"`);
    assertEquals(code, 0, text);
    console.log(text.trim());
    const step = (name: string, check: (build: Build) => Promise<void>) => t.step(name, () => check(build));
    await step("it answers with the exit codes of the program", checkAnswers);
    await step("it is the same through a link, from PATH and from its folder", checkNames);
    await step("six first starts at a time unpack it once", checkFirstStarts);
    await step("it uses a temporary folder where the cache cannot be written", checkClosedCache);
    await step("it is unpacked again after a crash left empty files", checkCrash);
    await step("a stage has several threads, with the bits of one", checkThreads);
    await step("it tells when it was cut, and leaves nothing", checkCut);
    await step("it removes old versions that no process runs", checkPruning);
    await step("from curl to a swarm that trains and takes a miner in; signals reach it", checkInstalled);
    await checkAsService(t, build);
    await step("two builds are the same byte for byte, whatever the time and the folder", checkReproducible);
  });
});

async function checkAnswers(build: Build): Promise<void> {
  const settings = { NODE_OPTIONS: "--no-such-option", DENO_V8_FLAGS: "--no-such-flag" }; // of the user's other programs
  const env = { ...build.home(), ...settings };
  await Deno.writeTextFile(`${env.HOME}/.npmrc`, "registry=${NOT_SET}\n");
  const check = async (words: string[], expected: { code: number; says: RegExp }) => {
    const { code, stdout, stderr } = await build.run(words, env);
    assertEquals(code, expected.code, stderr);
    assertMatch(stdout + stderr, expected.says);
  };
  await check(["--version"], { code: 0, says: /^iota \d+\.\d+\.\d+\n$/ });
  const startedMs = performance.now();
  await check(["--help"], { code: 0, says: /^ {2}swarm {2}/m });
  console.log(`iota --help of the packed file took ${Math.round(performance.now() - startedMs)} ms`);
  await check(["swram"], { code: 2, says: /Did you mean swarm\?/ });
  await check(["wallet", "show", "--name", "x"], { code: 1, says: /next {2}Make one/ });
  await check(["wallet", "new", "--name", "x"], { code: 0, says: /5[1-9A-Za-z]{47}/ });
  await check(["config", "init", "--size", "toy", "run.toml"], { code: 0, says: /run\.toml/ });
  await check(["config", "check", "run.toml"], { code: 0, says: /is valid/ });
  await check(["doctor", "--json"], { code: 0, says: /"name":"program","level":"good"/ });
  // A service starts the file itself, not its unpacked content.
  const service = ["service", "install", "--dry-run", "--", "miner", "--orchestrator", "ws://127.0.0.1:9"];
  if (Deno.build.os === "linux") await check(service, { code: 0, says: /^ExecStart=".*\/a build\/iota" miner /m });
  await check(["chain", "status", "--endpoint", "ws://127.0.0.1:9", "--netuid", "1", "--wallet", "x"], {
    code: 1,
    says: /127\.0\.0\.1:9/,
  });
}

async function checkThreads(build: Build): Promise<void> {
  const env = build.home();
  const lossOn = async (threads: number) => {
    const run = [
      "swarm",
      "--size",
      "toy",
      "--deterministic",
      "--steps",
      "2",
      "--chain",
      "none",
      "--sample-tokens",
      "0",
    ];
    const place = ["--data", `${build.folder}/threads-${threads}`, "--device", "cpu", "--threads", String(threads)];
    const { code, stdout, stderr } = await build.run([...run, ...place, "--json"], env);
    assertEquals(code, 0, stderr);
    return JSON.parse(stdout.trim().split("\n").at(-1)!).lossLast;
  };
  assertEquals(await lossOn(3), await lossOn(1));
}

async function checkNames(build: Build): Promise<void> {
  const env = build.home();
  await Deno.mkdir(`${build.folder}/my bin`);
  await Deno.symlink("../a build/iota", `${build.folder}/my bin/iota`);
  const ways = [
    `"${build.folder}/my bin/iota" --version`,
    `PATH="${build.folder}/my bin:$PATH" && iota --version`,
    `cd "${build.folder}/a build" && ./iota --version`,
    `cd "${build.folder}/a build" && sh iota --version`,
  ];
  for (const way of ways) assertMatch((await sh(way, env)).text, /^iota \d/, way);
  assertEquals(namesIn(cacheOf(env)).length, 1);
}

async function checkFirstStarts(build: Build): Promise<void> {
  const env = build.home();
  const ended = await Promise.all(Array.from({ length: 6 }, () => build.run(["--version"], env)));
  for (const { code, stdout, stderr } of ended) assertEquals([code, stdout.slice(0, 5), stderr], [0, "iota ", ""]);
  const [name, ...more] = namesIn(cacheOf(env));
  assertMatch(name!, /^[0-9a-f]{16}$/);
  assertEquals(more, []);
  assertEquals(namesIn(`${cacheOf(env)}/${name}`), ["cache", "deno", "program", "used"]);
}

async function checkClosedCache(build: Build): Promise<void> {
  const env = { ...build.home(), TMPDIR: `${build.folder}/temporary` };
  await Deno.mkdir(env.TMPDIR);
  await Deno.writeTextFile(`${env.HOME}/${Deno.build.os === "darwin" ? "Library" : ".cache"}`, ""); // not even root makes folders in a file
  assertEquals((await build.run(["--version"], env)).code, 0);
  const [own] = namesIn(env.TMPDIR);
  assertEquals(namesIn(`${env.TMPDIR}/${own}`).length, 1);
  await Deno.chmod(`${env.TMPDIR}/${own}`, 0o777); // anybody could have put a program there
  const { code, stderr } = await build.run(["--version"], env);
  assertEquals(code, 1);
  assertMatch(
    stderr,
    /^error Cannot unpack iota as a folder must take \d+ MB and run programs; in .*runtime: .*; .* ours alone$/m,
  );
  assertMatch(stderr, /\nnext {2}.*XDG_CACHE_HOME/);
}

async function checkCrash(build: Build): Promise<void> {
  const env = build.home();
  await build.run(["--version"], env);
  const [name] = namesIn(cacheOf(env));
  await Deno.writeFile(`${cacheOf(env)}/${name}/deno`, new Uint8Array());
  assertEquals((await build.run(["--version"], env)).code, 0);
  assertEquals(namesIn(cacheOf(env)), [name]);
}

async function checkCut(build: Build): Promise<void> {
  const env = { ...build.home(), TMPDIR: `${build.folder}/none` };
  const bytes = await Deno.readFile(build.program);
  const broken = bytes.slice();
  broken[bytes.length - 5_000_000]! ^= 1;
  for (const [name, content] of [["cut", bytes.subarray(0, -1_000_000)], ["broken", broken]] as const) {
    await Deno.writeFile(`${build.folder}/${name}`, content, { mode: 0o755 });
    const { code, stderr } = await build.run(["--version"], env, `${build.folder}/${name}`);
    assertEquals(code, 1);
    assertMatch(stderr, /gzip: /);
    assertEquals(namesIn(cacheOf(env)), []);
  }
}

async function checkPruning(build: Build): Promise<void> {
  const env = build.home();
  const old = (name: string, used: Date) => {
    Deno.mkdirSync(`${cacheOf(env)}/${name}/program`, { recursive: true });
    Deno.writeTextFileSync(`${cacheOf(env)}/${name}/used`, "");
    Deno.utimeSync(`${cacheOf(env)}/${name}/used`, used, used);
  };
  old("0000000000000001", longAgo);
  old("0000000000000002", longAgo);
  old("0000000000000003", new Date());
  const words = ["-c", "read -r line", `${cacheOf(env)}/0000000000000002/deno`];
  const running = new Deno.Command("sh", { args: words, stdin: "piped" }).spawn();
  assertEquals((await build.run(["--version"], env)).code, 0);
  await running.stdin.close();
  await running.status;
  const kept = namesIn(cacheOf(env)).filter((name) => name.startsWith("0000"));
  assertEquals(kept, ["0000000000000002", "0000000000000003"]);
}

async function checkInstalled(build: Build): Promise<void> {
  const site = await serveRelease(build);
  try {
    const env = { ...build.home(), IOTA_BASE_URL: site.url };
    const flags = ["--size", "toy", "--device", "cpu", "--json"];
    const program = `${env.HOME}/.local/bin/iota`;
    const startedMs = performance.now();
    const { code, text } = await sh(`cd; curl -fsS "$IOTA_BASE_URL/install.sh" | sh`, env);
    assertEquals(code, 0, text);
    assertStringIncludes(text, "Installed iota ");
    const installedMs = performance.now();
    await build.run(["wallet", "new", "--name", "late"], env, program);
    const options = { program, clearEnv: true, cwd: env.HOME };
    const swarm = new IotaProcess(["swarm", ...flags, "--steps", "4000", "--data", "run"], env, options);
    const { url } = await swarm.lines.next("listening") as Line & { url: string };
    const minerMs = performance.now();
    const words = ["miner", "--orchestrator", url, "--wallet", "late", "--device", "cpu", "--json"];
    const miner = new IotaProcess(words, env, options);
    await miner.lines.next("stageLoaded");
    const seconds = (installedMs - startedMs + performance.now() - minerMs) / 1000;
    console.log(
      `from curl to a miner with its stage: ${seconds.toFixed(1)} s, ` +
        `of these ${((installedMs - startedMs) / 1000).toFixed(1)} s the installation`,
    );
    await swarm.lines.next("roundMerged");
    miner.kill("SIGKILL");
    assertNotEquals((await miner.ended).code, 0);
    swarm.kill("SIGINT");
    const stopped = await swarm.ended;
    assertEquals(stopped.code, 1, stopped.stderr);
    assertMatch(stopped.stderr, /Stopped after step \d+, kept up to the last merge; resume with: iota swarm/);
    assertLess(0, swarm.lines.all.at(-1)!["steps"] as number);
    assert(namesIn(env.HOME).includes("run"));
  } finally {
    await site.close();
  }
}

/** With the manager of services itself, where one can be had. */
async function checkAsService(t: Deno.TestContext, build: Build): Promise<void> {
  const env = build.home();
  const manager = await startUserServices({ home: env.HOME, folder: `${env.HOME}/runtime` });
  const name = "as a service it stops between two rounds for a new version, which the service then starts";
  if (typeof manager === "string") return await stepWhere(t, manager, name, () => {});
  await stepWhere(t, null, name, () => checkService(build, { env, manager }));
}

async function checkService(
  build: Build,
  { env, manager }: { env: HomeEnvironment; manager: UserServices },
): Promise<void> {
  const program = `${env.HOME}/iota`;
  await Deno.copyFile(build.program, program);
  const run = (words: string[]) => build.run(words, { ...env, ...manager.env }, program);
  const options = { program, clearEnv: true, cwd: env.HOME };
  const size = ["--size", "toy", "--stages", "1", "--replicas", "1", "--steps", "100000"];
  const hub = new IotaProcess(["orchestrate", ...size, "--data", "hub", "--port", "0", "--json"], env, options);
  try {
    const { url } = await hub.lines.next("listening") as Line & { url: string };
    await run(["wallet", "new", "--name", "months"]);
    const role = ["miner", "--orchestrator", url, "--wallet", "months", "--device", "cpu"];
    const installed = await run(["service", "install", "--", ...role, "--log-file", `${env.HOME}/logs/miner.log`]);
    assertEquals(installed.code, 0, installed.stderr);
    await hub.lines.next("roundMerged");
    assertEquals((await run(["service", "status"])).code, 0);
    await replaceByAnother(program, build);
    const { reason } = await hub.lines.next("nodeLost") as Line & { reason: string };
    assertEquals(reason, "a new version is in place");
    await hub.lines.next("nodeJoined");
    await hub.lines.next("roundMerged");
    assertEquals(namesIn(cacheOf(env)).length, 2, "the new version is unpacked for good");
    assertEquals((await run(["service", "remove"])).code, 0);
    const left = await hub.lines.next("nodeLost") as Line & { reason: string };
    assertEquals(left.reason, "interrupted");
    const log = await Deno.readTextFile(`${env.HOME}/logs/miner.log`);
    assertMatch(log, /a new version is at .*iota: restarting with it after this round/);
    assertEquals((await run(["service", "status"])).code, 1);
  } finally {
    hub.kill("SIGTERM");
    await hub.ended;
    await manager.stop();
  }
}

/** By a rename, as the installer does. */
async function replaceByAnother(program: string, build: Build): Promise<void> {
  const folder = `${build.folder}/another`;
  const { code, text } = await sh(`
    .ci/bundle "${folder}" && echo "// another" >>"${folder}/main.js"
    PROGRAM="${folder}" .ci/binary --packed --out "${program}.new" && mv "${program}.new" "${program}"`);
  assertEquals(code, 0, text);
}

async function serveRelease(build: Build): Promise<{ url: string; close(): Promise<void> }> {
  const folder = `${build.folder}/release`;
  const { code, text } = await sh(
    `mkdir "${folder}" && cp "${build.program}" "${folder}/${asset}" && cp install.sh "${folder}" && cd "${folder}" &&
      { sha256sum ${asset} || shasum -a 256 ${asset}; } >SHA256SUMS`,
  );
  assertEquals(code, 0, text);
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, async ({ url }) => {
    const file = await Deno.open(`${folder}${new URL(url).pathname}`);
    return new Response(file.readable);
  });
  return { url: `http://127.0.0.1:${server.addr.port}`, close: () => server.shutdown() };
}

async function checkReproducible(build: Build): Promise<void> {
  const elsewhere = `${build.folder}/elsewhere`;
  const script = `mkdir -p "$PACKING_CACHE" && cp .cache/packing/*.br "$PACKING_CACHE"
    cp -R .ci cli core gpu net chain deno.json deno.lock "${elsewhere}" && cd "${elsewhere}" && umask 077
    .ci/binary --packed --out again && cmp again "${build.program}"`;
  const denoDir = Deno.env.get("DENO_DIR") ?? `${root}.cache/deno`;
  const { code, text } = await sh(script, {
    ...{ PACKING_CACHE: `${elsewhere}/cache`, DENO_DIR: denoDir },
    ...{ TZ: "Asia/Tokyo", LC_ALL: "C" },
  });
  assertEquals(code, 0, text);
}

Deno.test("Binary: launcher, packed file, compiler and roles give the same rights", async () => {
  const rightsIn = async (path: string) =>
    [...(await Deno.readTextFile(`${root}${path}`)).matchAll(/--(allow|deny)-[a-z]+/g)].map(([flag]) => flag).sort();
  const rights = await rightsIn(".ci/rights");
  assertEquals(await rightsIn(".ci/launcher"), rights);
  assertEquals(await rightsIn("cli/program/self.ts"), rights);
  for (const path of [".ci/packed_header", ".ci/binary", "cli/program/self.ts"]) { // without it nothing can be confined
    assertStringIncludes(await Deno.readTextFile(`${root}${path}`), "--unstable-worker-options", path);
  }
});
