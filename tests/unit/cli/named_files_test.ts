/** Files that a file of settings names: `config check` and the orchestrator find the same wrong ones, by the line that names them. */

import { withCommands } from "../../support/with_commands.ts";
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import type { Command } from "../../../cli/terminal/command.ts";
import { command as orchestrate } from "../../../cli/commands/orchestrate.ts";
import { main } from "../../../cli/command_line.ts";
import { mustHaveSoundHub } from "../../../cli/orchestrator/run/hub_file_check.ts";
import { FakeHost } from "../../support/fake_host.ts";
import { makeCertificate, noOpenssl } from "../../support/process/own_certificate.ts";
import { withScratchFolder } from "../../support/scratch_folder.ts";
import { testWhere } from "../../support/test_where.ts";

async function check(path: string, ...words: string[]) {
  const host = new FakeHost({ env: { HOME: "/nowhere" } });
  const code = await main(["config", "check", path, ...words], host);
  return { code, ...host.written };
}

/** The orchestrator up to where its work begins. */
async function begin(...words: string[]) {
  const host = new FakeHost({ env: { HOME: "/nowhere" } });
  const idle: Command = { ...orchestrate, run: (context) => mustHaveSoundHub(context).then(() => 0) };
  const code = await main(["orchestrate", ...words], host, withCommands({ orchestrate: () => Promise.resolve(idle) }));
  return { code, ...host.written };
}

async function withFile(text: string, body: (path: string, folder: string) => Promise<void>): Promise<void> {
  await withScratchFolder(async (folder) => {
    const path = `${folder}/run.toml`;
    await Deno.writeTextFile(path, text);
    await body(path, folder);
  });
}

const here = Deno.cwd();

Deno.test("Config check: a text that is not there is named with its line and the whole path that was tried", async () => {
  await withFile('size = "toy"\n[data]\ncorpus = "nosuch.txt"\n', async (path) => {
    const { code, stdout } = await check(path);
    assertEquals(code, 1);
    assertStringIncludes(
      stdout,
      `${path}:3: Cannot read the text '${here}/nosuch.txt': it does not exist`,
    );
  });
});

Deno.test("Config check: a text that a start refuses is a problem of the file's line, with the next step", async () => {
  await withScratchFolder(async (folder) => {
    const [path, text] = [`${folder}/run.toml`, `${folder}/text.txt`];
    await Deno.writeTextFile(path, `size = "toy"\n[data]\ncorpus = "${text}"\n`);
    const cases = [
      ["too short", /:3: Cannot split the text .*it has 1 different document.* Use more text/],
      [`${"One line of text.\n\n".repeat(2000)}`, /:3: Cannot make a tokenizer .*varied enough.*Use more text/],
      ['{"text": "one"}\n', /:3: .*begins as a JSON record.* --format jsonl/],
    ] as const;
    for (const [content, says] of cases) {
      await Deno.writeTextFile(text, content);
      const { code, stdout } = await check(path);
      assertEquals(code, 1);
      assertMatch(stdout, says);
    }
  });
});

Deno.test("Config check: the host, the log's folder and a wallet to be made are looked at", async () => {
  const says = async (text: string) => {
    let checked: Awaited<ReturnType<typeof check>> | null = null;
    await withFile(text, async (path) => void (checked = await check(path)));
    return checked!;
  };
  for (const host of ['"not a host"', "5", '"::zz"']) {
    const { code, stdout } = await says(`[hub]\nhost = ${host}\n`);
    assertEquals(code, 1, stdout);
    assertMatch(stdout, /run\.toml:2: Cannot use hub\.host '.*': it is not an address or name of this machine/);
  }
  for (const host of ["0.0.0.0", "::1", "[::1]", "localhost", "hub-1.lan"]) {
    assertEquals((await says(`[hub]\nhost = "${host}"\n`)).code, 0, host);
  }
  const log = await says('wallet = "hot"\nlog-file = "/nowhere/logs/miner.log"\n');
  assertMatch(log.stdout, /run\.toml:2: Cannot open the log '.*': its folder does not exist/);
  const wallet = await says('[hub]\nwallet = "hot"\n');
  assertEquals(wallet.code, 0); // it may still be made
  assertMatch(wallet.stdout, /not ready yet: .*there is no file at .*hot.* iota wallet new --name hot/);
  assertMatch(
    (await says("# nothing\n")).stdout,
    /is valid: it sets nothing, so it suits a run, a miner and a validator/,
  );
});

Deno.test("Config check: a setting of [hub] outside of it, an open quotation mark and a long line are named briefly", async () => {
  const cases = [
    [
      'host = "0.0.0.0"\n',
      /:1: There is no setting host outside a table: did you mean hub\.host, in \[hub\]\?/,
    ],
    [
      'size = "toy"\nwallet-path = "/w"\n',
      /:2: There is no setting wallet-path .* did you mean hub\.walletPath, in \[hub\]\?/,
    ],
    ['size = "toy\n', /:1:\d+: Cannot read 'size = "toy' as TOML: a quotation mark is missing/],
    [`${"x".repeat(5_000)}\n`, /:1:\d+: Cannot read 'x{79}…' as TOML/],
  ] as const;
  for (const [text, says] of cases) {
    await withFile(text, async (path) => {
      const { code, stdout } = await check(path, "--for", "run");
      assertEquals(code, 1);
      assertMatch(stdout, says);
    });
  }
});

Deno.test("Config: a file that is not there can be made with the next command", async () => {
  const { stderr } = await begin("--config", "/nowhere/run.toml");
  assertMatch(stderr, /next {2}Check the spelling, or make a new one: iota config init \/nowhere\/run\.toml/);
});

Deno.test("Config check and orchestrate: half a TLS pair is a problem of the file's line, not of an option", async () => {
  for (const [given, missing] of [["tlsCert", "tlsKey"], ["tlsKey", "tlsCert"]]) {
    await withFile(`[hub]\nport = 0\n${given} = "cert.pem"\n`, async (path) => {
      const says = `${path}:3: Cannot use hub.${given} without hub.${missing}`;
      const checked = await check(path);
      assertEquals(checked.code, 1);
      assertStringIncludes(checked.stdout, says);
      const begun = await begin("--config", path);
      assertEquals(begun.code, 1);
      assertStringIncludes(begun.stderr, says);
      assertEquals((await begin("--config", path, "--loopback")).code, 0); // none of it counts
    });
  }
});

Deno.test("Config check and orchestrate: a missing certificate, or an address that cannot be dialled", async () => {
  await withFile('[hub]\ntlsCert = "no.pem"\ntlsKey = "no.key"\npublicAddress = "http://x"\n', async (path) => {
    for (const text of [(await check(path)).stdout, (await begin("--config", path)).stderr]) {
      assertStringIncludes(
        text,
        `${path}:2: Cannot use hub.tlsCert '${here}/no.pem': it does not exist`,
      );
      assertStringIncludes(
        text,
        `${path}:4: Cannot use hub.publicAddress '`,
      );
    }
  });
  await withFile('wallet = "hot"\ntls-ca = "no.pem"\n', async (path) => {
    const { code, stdout } = await check(path, "--for", "miner");
    assertEquals(code, 1);
    assertStringIncludes(stdout, `${path}:2: Cannot use tls-ca '${here}/no.pem': it does not exist`);
  });
});

testWhere(noOpenssl(), "Config check and orchestrate: a sound pair passes, another's key does not", async () => {
  await withFile("", async (path, folder) => {
    const own = await makeCertificate(folder, { names: ["IP:127.0.0.1"] });
    const other = await makeCertificate(folder, { names: ["IP:127.0.0.1"] });
    const write = (key: string) =>
      Deno.writeTextFile(path, `size = "toy"\n[hub]\ntlsCert = "${own.certificate}"\ntlsKey = "${key}"\n`);
    await write(own.key);
    assertEquals([(await check(path)).code, (await begin("--config", path)).code], [0, 0]);
    await write(other.key);
    const says = /run\.toml:4: Cannot use hub\.tlsKey '.*': it must be the key of the certificate/;
    assertMatch((await check(path)).stdout, says);
    assertMatch((await begin("--config", path)).stderr, says);
    assertEquals((await begin("--config", path, "--tls-key", own.key)).code, 0); // typed counts more
  });
});

Deno.test("Config check: help says which folder paths count from", async () => {
  const host = new FakeHost();
  await main(["help", "config", "check"], host);
  assertMatch(host.written.stdout.replaceAll(/\s+/g, " "), /relative paths start at the current folder/);
});
