/** A second machine joins a run by pasting the line that the orchestrator printed: over IPv4, IPv6 and TLS. */

import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { iota, IotaProcess } from "../support/process/iota_process.ts";
import { makeCertificate, noOpenssl } from "../support/process/own_certificate.ts";
import { withScratchFolder } from "../support/scratch_folder.ts";
import { writeSmallCorpus } from "../support/process/small_corpus.ts";
import { testWhere } from "../support/test_where.ts";
import { noSecondMachine, withTwoMachines } from "../support/process/two_machines.ts";

const noMachine = noSecondMachine();

interface Lan {
  readonly hub: readonly string[]; // lines of [hub]
  readonly joins: RegExp;
  readonly also?: RegExp; // what the orchestrator says, too
  readonly folder: string;
  readonly through: readonly [readonly string[], readonly string[]];
}

/** An orchestrator on the first machine, a miner on the second; the run ends by itself. */
async function trainOverLan({ hub, joins, also = /^/, folder, through }: Lan): Promise<void> {
  const file = `${folder}/run.toml`;
  const corpus = await writeSmallCorpus(folder);
  const settings = [
    'name = "lan"\nsize = "toy"',
    "[pipeline]\nstages = 1",
    "[swarm]\nreplicas = 1\nvalidators = 0",
    "[train]\nsteps = 2",
    `[data]\ncorpus = "${corpus}"`,
    "[hub]\nport = 0",
    ...hub,
  ];
  await Deno.writeTextFile(file, `${settings.join("\n")}\n`);
  const orchestrator = new IotaProcess(["orchestrate", "--config", file, "--data", `${folder}/run`], {}, {
    through: through[0],
  });
  const [, pasted] = await orchestrator.printed.next(/^Join with: iota (miner .*)$/);
  assertMatch(pasted!, joins);
  await iota(["wallet", "new", "--name", "hot", "--wallet-path", `${folder}/wallets`]);
  const wallet = ["--wallet", "hot", "--wallet-path", `${folder}/wallets`];
  const own = ["--data", `${folder}/miner`, "--device", "cpu"];
  const words = pasted!.replaceAll("'", "").replace(/--tls-ca (\S+)$/, `--tls-ca ${folder}/$1`).split(" ");
  const joined = await iota([...words, ...wallet, ...own], {}, {
    through: through[1],
  });
  assertEquals(joined.code, 0, joined.stderr);
  assertStringIncludes(joined.stdout, "done:");
  const { code, stdout, stderr } = await orchestrator.ended;
  assertEquals(code, 0, stderr);
  assertMatch(stdout, /finished +yes/);
  assertMatch(stdout, also);
}

testWhere(
  noMachine,
  "Second machine: joins by the printed line when the port is open to the whole network",
  async () => {
    await withScratchFolder(async (folder) => {
      await withTwoMachines(async ([here, there]) => {
        await trainOverLan({
          ...{ folder, through: [here.through, there.through] },
          hub: ['host = "0.0.0.0"'],
          joins: new RegExp(`--orchestrator 'iota://${here.ipv4}:\\d+/`),
        });
      });
    });
  },
);

testWhere(noMachine, "Second machine: joins by the printed line over IPv6", async () => {
  await withScratchFolder(async (folder) => {
    await withTwoMachines(async ([here, there]) => {
      await trainOverLan({
        ...{ folder, through: [here.through, there.through] },
        hub: ['host = "::"'],
        joins: new RegExp(`--orchestrator 'iota://\\[${here.ipv6}\\]:\\d+/`),
        also: new RegExp(`^Also at: .*iota://${here.ipv4}:\\d+/`, "m"),
      });
    });
  });
});

testWhere(noMachine ?? noOpenssl(), "Second machine: joins by wss with a certificate that signs itself", async () => {
  await withScratchFolder(async (folder) => {
    await withTwoMachines(async ([here, there]) => {
      const { certificate, key } = await makeCertificate(folder, { names: [`IP:${here.ipv4}`] });
      await trainOverLan({
        ...{ folder, through: [here.through, there.through] },
        hub: ['host = "0.0.0.0"', `tlsCert = "${certificate}"`, `tlsKey = "${key}"`],
        joins: new RegExp(`--orchestrator 'iotas://${here.ipv4}:\\d+/.*' --tls-ca cert-\\w+\\.pem$`),
      });
    });
  });
});

testWhere(noOpenssl(), "TLS: each mismatch of address and port is one sentence with what to type", async () => {
  await withScratchFolder(async (folder) => {
    const { certificate, key } = await makeCertificate(folder, { names: ["IP:127.0.0.1"] });
    const corpus = await writeSmallCorpus(folder);
    await iota(["wallet", "new", "--name", "hot", "--wallet-path", `${folder}/wallets`]);
    const open = async (name: string, words: readonly string[]) => {
      const run = ["orchestrate", "--size", "toy", "--corpus", corpus, "--port", "0", "--data", `${folder}/${name}`];
      const hub = new IotaProcess([...run, "--json", ...words]);
      return { hub, url: (await hub.lines.next("listening"))["url"] as string };
    };
    const hears = async (url: string, expected: RegExp) => {
      const own = ["--wallet-path", `${folder}/wallets`, "--data", `${folder}/miner`, "--device", "cpu"];
      const miner = new IotaProcess(["miner", "--orchestrator", url, "--wallet", "hot", ...own]);
      await miner.logged.next(expected);
      miner.kill("SIGKILL");
      await miner.ended;
    };
    const withTls = await open("tls", ["--tls-cert", certificate, "--tls-key", key]);
    const plain = await open("plain", []);
    const wssToPlain = plain.url.replace("ws:", "wss:");
    await hears(withTls.url.replace("wss:", "ws:"), new RegExp(`without TLS.*--orchestrator ${withTls.url}`));
    await hears(wssToPlain, new RegExp(`needs a port with TLS.*--orchestrator ${plain.url}`));
    await hears(withTls.url, /does not trust its certificate.*--tls-ca FILE/);
    for (const { hub } of [withTls, plain]) {
      hub.kill("SIGTERM");
      assertEquals((await hub.ended).code, 0);
    }
  });
});

testWhere(
  noOpenssl(),
  "TLS: a wrong file ends the orchestrator before anything is written, with path and reason",
  async () => {
    await withScratchFolder(async (folder) => {
      const pair = await makeCertificate(folder, { names: ["IP:127.0.0.1"] });
      const other = await makeCertificate(folder, { names: ["IP:127.0.0.1"] });
      const authority = await makeCertificate(folder, { names: ["IP:127.0.0.1"], isAuthority: true });
      const noPem = `${folder}/notes.txt`;
      await Deno.writeTextFile(noPem, "not a key");
      const cases: [words: string[], says: RegExp, code: number][] = [
        [["--tls-cert", pair.certificate], /Cannot use --tls-cert without --tls-key/, 2],
        [["--tls-cert", `${folder}/none.pem`, "--tls-key", pair.key], /none\.pem'[\s\S]*Check the spelling/, 1],
        [["--tls-cert", noPem, "--tls-key", pair.key], /notes\.txt': it must be in PEM/, 1],
        [["--tls-cert", pair.key, "--tls-key", pair.key], /must hold a certificate, but none/, 1],
        [
          ["--tls-cert", pair.certificate, "--tls-key", other.key],
          /must be the key of the certificate.*, but it is another/,
          1,
        ],
        [["--tls-cert", authority.certificate, "--tls-key", authority.key], /must not be an authority/, 1],
      ];
      for (const [words, says, expected] of cases) {
        const data = `${folder}/run`;
        const { code, stderr } = await iota(["orchestrate", "--size", "toy", ...words, "--data", data]);
        assertMatch(stderr, says);
        assertEquals(code, expected, stderr);
        assertEquals(await Deno.stat(data).catch(() => null), null);
      }
    });
  },
);
