/** Machines whose environment names a proxy: one that has no other way out, and one that must not use it for itself. */

import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { iota, iotaCommand, IotaProcess } from "../support/process/iota_process.ts";
import { PrintedLines } from "../support/process/printed_lines.ts";
import { writeSmallCorpus } from "../support/process/small_corpus.ts";
import { type Machine, noSecondMachine, withTwoMachines } from "../support/process/two_machines.ts";
import { withScratchFolder } from "../support/scratch_folder.ts";
import { testWhere } from "../support/test_where.ts";

const farAddress = "10.99.0.1"; // of the first machine; the second one has no route to it
const proxyPort = 3128;

/** A proxy on the first machine: the second one's only way to `farAddress`. */
async function withProxy(
  { through, ipv4 }: Machine,
  body: (url: string, seen: () => string) => Promise<void>,
): Promise<void> {
  const [ip, ...before] = [...through, "ip", "addr", "add", `${farAddress}/32`, "dev", "lo"];
  assertEquals(new Deno.Command(ip!, { args: before }).outputSync().code, 0);
  const entry = "tests/support/net/small_proxy.ts";
  const [command, ...words] = [
    ...through,
    ...iotaCommand.slice(0, -1),
    iotaCommand.at(-1)!.replace("cli/main.ts", entry),
  ];
  const proxy = new Deno.Command(command!, { args: [...words, ipv4, String(proxyPort)], stdout: "piped" }).spawn();
  const printed = new PrintedLines();
  let text = "";
  const reading = proxy.stdout.pipeThrough(new TextDecoderStream()).pipeTo(
    new WritableStream({
      write: (chunk) => {
        text += chunk;
        printed.feed(chunk);
      },
    }),
  );
  try {
    await printed.next(/^listening$/);
    await body(`http://${ipv4}:${proxyPort}`, () => text);
  } finally {
    proxy.kill("SIGKILL");
    await Promise.all([proxy.status, reading]);
  }
}

testWhere(
  noSecondMachine(),
  "Proxy: a miner trains behind one that is its only way out, and doctor names it",
  async () => {
    await withScratchFolder(async (folder) => {
      await withTwoMachines(async ([here, there]) => {
        await withProxy(here, async (proxyUrl, seen) => {
          const corpus = await writeSmallCorpus(folder);
          const run = ["--size", "toy", "--stages", "1", "--replicas", "1", "--validators", "0", "--steps", "2"];
          const at = ["--host", farAddress, "--port", "0", "--corpus", corpus, "--data", `${folder}/run`];
          const hub = new IotaProcess(["orchestrate", ...run, ...at], {}, { through: here.through });
          const [, invite] = await hub.printed.next(/^Join with: iota miner --orchestrator '(iota:\S+)'/);
          const proxy = { ALL_PROXY: proxyUrl };
          const checks = ["--skip", "adapter,size,speed,numbers,memory,disk,chain,wallet", "--timeout", "10"];
          const doctor = (env: Record<string, string>) =>
            iota(["doctor", "--orchestrator", invite!, ...checks, "--data", `${folder}/doctor`], env, {
              through: there.through,
            });
          const well = await doctor(proxy);
          assertEquals(well.code, 0, well.stdout + well.stderr);
          assertStringIncludes(well.stdout.replace(/\s+/g, " "), `through the proxy ${proxyUrl} (ALL_PROXY)`);
          const unused = await doctor({ HTTPS_PROXY: proxyUrl });
          assertEquals(unused.code, 1);
          assertMatch(
            unused.stdout.replace(/\s+/g, " "),
            /dialled without a proxy \(HTTPS_PROXY=.*set HTTP_PROXY or ALL_PROXY/,
          );
          await iota(["wallet", "new", "--name", "hot", "--wallet-path", `${folder}/wallets`]);
          const wallet = ["--wallet", "hot", "--wallet-path", `${folder}/wallets`];
          const own = ["--data", `${folder}/miner`, "--device", "cpu"];
          const joined = await iota(["miner", "--orchestrator", invite!, ...wallet, ...own], proxy, {
            through: there.through,
          });
          assertEquals(joined.code, 0, joined.stderr);
          const { code, stdout, stderr } = await hub.ended;
          assertEquals(code, 0, stderr);
          assertMatch(stdout, /finished +yes/);
          assertMatch(seen(), new RegExp(`CONNECT ${farAddress}:\\d+`));
        });
      });
    });
  },
);

Deno.test("Proxy: a swarm on one machine ends whatever proxy the environment names", async () => {
  await withScratchFolder(async (folder) => {
    const corpus = await writeSmallCorpus(folder);
    const nobody = "http://127.0.0.1:1"; // nothing listens there
    const env = { HTTP_PROXY: nobody, HTTPS_PROXY: nobody, ALL_PROXY: nobody, http_proxy: nobody };
    const shape = ["--size", "toy", "--stages", "1", "--replicas", "2", "--validators", "0", "--steps", "2"];
    const words = ["swarm", ...shape, "--corpus", corpus, "--data", `${folder}/run`, "--device", "cpu", "--json"];
    const { code, stdout, stderr } = await iota(words, env);
    assertEquals(code, 0, stderr);
    const summary = JSON.parse(stdout.trim().split("\n").at(-1)!);
    assertEquals([summary.type, summary.finished], ["summary", true]);
  });
});
