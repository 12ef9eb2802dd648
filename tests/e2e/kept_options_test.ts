/** The line that an orchestrator prints when it stops, pasted anywhere: the same key, TLS, address and log. Real processes. */

import { assert, assertEquals, assertMatch } from "@std/assert";
import { createHotkey } from "../../chain/wallet/hotkey_files.ts";
import { iota, IotaProcess, type Line } from "../support/process/iota_process.ts";
import { makeCertificate, noOpenssl } from "../support/process/own_certificate.ts";
import { withScratchFolder } from "../support/scratch_folder.ts";
import { testWhere } from "../support/test_where.ts";

interface Life {
  readonly url: string;
  readonly hub: string;
  readonly goOn: string[]; // the words that were printed
}

/** One life that is stopped as soon as it listens. */
async function live(words: readonly string[], { home, cwd }: { home: string; cwd: string }): Promise<Life> {
  const process = new IotaProcess([...words, "--json"], { HOME: home, XDG_DATA_HOME: `${home}/share` }, { cwd });
  const listening = await Promise.race([process.lines.next("listening"), process.ended]);
  if ("code" in listening) throw new Error(`it did not listen: ${(listening as { stderr: string }).stderr}`);
  const { url, hub } = listening as Line & { url: string; hub: string };
  process.kill("SIGTERM");
  const { code, stderr } = await process.ended;
  assertEquals(code, 0, stderr);
  const printed = /resume at this step with: iota (.*)$/m.exec(stderr);
  assert(printed !== null, stderr);
  return { url, hub, goOn: printed[1]!.split(" ") };
}

testWhere(noOpenssl(), "Go on: the printed line brings back key, TLS, address and log, from any folder", async () => {
  await withScratchFolder(async (home) => {
    const elsewhere = `${home}/elsewhere`;
    await Deno.mkdir(elsewhere);
    const { certificate, key } = await makeCertificate(home, { names: ["DNS:run.example"] });
    const { pair: { address } } = await createHotkey({ folder: `${home}/keys`, wallet: "hub", hotkey: "one" });
    await createHotkey({ folder: `${home}/keys`, wallet: "other", hotkey: "default" });
    const relative = (path: string) => path.slice(home.length + 1);
    await Deno.writeTextFile(
      `${home}/run.toml`,
      `size = "toy"\n[hub]\npublicAddress = "run.example"\nlogFile = "hub.log"\nlogKeep = 2\n`,
    );
    const first = await live([
      ...["orchestrate", "--config", "run.toml", "--port", "0", "--wallet", "hub", "--wallet-path", "keys"],
      ...["--tls-cert", relative(certificate), "--tls-key", relative(key), "--data", "mine"],
    ], { home, cwd: home });
    assertEquals(first.hub, address);
    assertMatch(first.url, /^wss:\/\/run\.example:\d+$/);
    const size = (await Deno.stat(`${home}/hub.log`)).size;

    const again = await live(first.goOn, { home, cwd: elsewhere });
    assertEquals(again, first, "the same orchestrator at the same address");
    assert((await Deno.stat(`${home}/hub.log`)).size > size, "it writes to the same log");
    assertEquals(Array.from(Deno.readDirSync(elsewhere)), [], "nothing begins in the folder where it was pasted");

    const refused = await iota(
      [...first.goOn, "--wallet", "other", "--wallet-path", `${home}/keys`],
      { HOME: home },
      { cwd: elsewhere },
    );
    assertEquals(refused.code, 1, refused.stderr);
    assertMatch(refused.stderr, new RegExp(`accept only the key ${address}, and wallet other has `));
    assertMatch(
      refused.stderr,
      /belongs to wallet hub, hotkey one, in '.*\/keys'.*resume with: iota orchestrate --data /,
    );
    const readdressed = await live([...first.goOn, "--public-address", "new.example"], { home, cwd: elsewhere });
    assertEquals([readdressed.hub, new URL(readdressed.url).hostname], [address, "new.example"]);
    assertEquals(await live(first.goOn, { home, cwd: home }), readdressed, "what was given last is kept");
  });
});

Deno.test("Go on: a run whose own key is gone is refused, and no new key is made", async () => {
  await withScratchFolder(async (home) => {
    const words = ["orchestrate", "--size", "toy", "--port", "0", "--data", `${home}/run`];
    const { hub } = await live(words, { home, cwd: home });
    await Deno.rename(`${home}/run/wallets`, `${home}/saved`);
    const { code, stderr } = await iota(words);
    assertEquals(code, 1, stderr);
    assertMatch(stderr, new RegExp(`accept only the key ${hub}, and there is no key in '.*/run/wallets'`));
    assertEquals(await Deno.stat(`${home}/run/wallets`).catch(() => null), null);
    const saved = JSON.parse(await Deno.readTextFile(`${home}/run/run.json`));
    const { hub: _, options: __, ...old } = saved;
    await Deno.writeTextFile(`${home}/run/run.json`, JSON.stringify(old));
    const renewed = await live(words, { home, cwd: home });
    assert(renewed.hub !== hub, "a file of an older program names no key");
  });
});
