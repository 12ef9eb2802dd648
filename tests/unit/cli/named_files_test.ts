/** Files that a file of settings names: `config check` and the orchestrator find the same wrong ones, by the line that names them. */

import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import type { Command } from "../../../cli/command.ts";
import { command as orchestrate } from "../../../cli/commands/orchestrate.ts";
import { main } from "../../../cli/main.ts";
import { mustHaveSoundHub } from "../../../cli/orchestrate/hub_file_check.ts";
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
  const code = await main(["orchestrate", ...words], host, { orchestrate: () => Promise.resolve(idle) });
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
      `${path}:3: Cannot read the corpus as it must exist: current value is '${here}/nosuch.txt'`,
    );
  });
});

Deno.test("Config check and orchestrate: half a TLS pair is a problem of the file's line, not of an option", async () => {
  for (const [given, missing] of [["tlsCert", "tlsKey"], ["tlsKey", "tlsCert"]]) {
    await withFile(`[hub]\nport = 0\n${given} = "cert.pem"\n`, async (path) => {
      const says = `${path}:3: Cannot use hub.${given} as hub.${missing} must be given with it: it is missing`;
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
        `${path}:2: Cannot use hub.tlsCert as it must exist: current value is '${here}/no.pem'`,
      );
      assertStringIncludes(
        text,
        `${path}:4: Cannot use hub.publicAddress as it must be an address that other machines can dial`,
      );
    }
  });
  await withFile('wallet = "hot"\ntls-ca = "no.pem"\n', async (path) => {
    const { code, stdout } = await check(path, "--for", "miner");
    assertEquals(code, 1);
    assertStringIncludes(stdout, `${path}:2: Cannot use tls-ca as it must exist: current value is '${here}/no.pem'`);
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
    const says = /run\.toml:4: Cannot use hub\.tlsKey '.*' as it must be the key of the certificate/;
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
