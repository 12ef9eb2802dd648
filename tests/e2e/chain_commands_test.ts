/** `iota chain` as a person and a script use it: every action as a real process, against a local chain that is one as well. */

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { iota, IotaProcess, type Line } from "../support/process/iota_process.ts";
import { withScratchFolder } from "../support/scratch_folder.ts";

const alice = "5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY"; // owns the subnet as coldkey and as hotkey, uid 0
const bob = "5FHneW46xGXgs5mUiveU4sbTyGBzmstUspZC92UhjJM694ty"; // rich, registered nowhere

interface Answer {
  readonly code: number;
  readonly last: Readonly<Record<string, unknown>>; // the last line of stdout
  readonly lines: readonly Line[];
  readonly printed: string;
}

/** A local chain, and a folder in which wallets and salts are kept. */
class LocalChain {
  constructor(readonly folder: string, readonly endpoint: string, readonly process: IotaProcess) {}

  /** Runs one action with --json. */
  async ask(words: string, more: readonly string[] = []): Promise<Answer> {
    const given = ["chain", ...words.split(" "), ...more, "--endpoint", this.endpoint, "--data", this.folder, "--json"];
    const { code, stdout, stderr } = await iota(given, { HOME: this.folder });
    const lines = stdout.trimEnd().split("\n").map((line) => JSON.parse(line) as Line);
    return { code, last: lines.at(-1)!, lines, printed: stdout + stderr };
  }

  /** The same, which must work. */
  async told(words: string, more: readonly string[] = []): Promise<Readonly<Record<string, unknown>>> {
    const { code, last, printed } = await this.ask(words, more);
    assertEquals([code, last["type"]], [0, "summary"], `${words}: ${printed}`);
    return last;
  }

  async refused(words: string, says: { code?: number; text: string }): Promise<void> {
    const { code, last, printed } = await this.ask(words);
    assertEquals([code, last["type"]], [says.code ?? 1, "error"], `${words}: ${printed}`);
    assertStringIncludes(String(last["message"]), says.text);
    assert(says.code === 2 || String(last["next"]).length > 3, `${words}: no next step in ${printed}`);
  }

  async block(number: number): Promise<void> {
    for (let seen = 0; seen < number;) seen = Number((await this.process.lines.next("block"))["number"]);
  }
}

async function withLocalChain(rules: string, body: (chain: LocalChain) => Promise<void>): Promise<void> {
  await withScratchFolder(async (folder) => {
    const words = ["chain", "local", "--port", "0", ...rules.split(" "), "--data", `${folder}/chain`, "--json"];
    const process = new IotaProcess(words);
    try {
      const served = await process.lines.next("chainServed");
      const wallet = (words: string) => iota(["wallet", ...words.split(" "), "--data", folder, "--json"]);
      await wallet("import --uri //Alice --name alice --coldkey --no-password");
      await wallet("import --uri //Alice --name alice --hotkey owner");
      await wallet("new --name alice");
      await wallet("import --uri //Bob --name bob");
      await wallet("new --name carol");
      await body(new LocalChain(folder, String(served["endpoint"]), process));
    } finally {
      process.kill("SIGINT");
      await process.ended;
    }
  });
}

async function buyIn(chain: LocalChain, t: Deno.TestContext): Promise<void> {
  await t.step("an unregistered hotkey is reported, with exit code 1", async () => {
    const { code, last } = await chain.ask("status --wallet alice");
    assertEquals([code, last["level"], last["isRegistered"], last["coldkey"]], [1, "wrong", false, alice]);
    await chain.refused("weights --wallet alice --set 0:1", { text: "is not registered in subnet 9" });
    await chain.refused("serve --wallet alice --ip 203.0.113.7 --port 80", { text: "is not registered" });
  });

  await t.step("registering shows the price, keeps below the highest, and is paid once", async () => {
    await chain.refused("register --wallet alice --max-cost 0.000001", { text: "more than the limit of 0.000001" });
    const first = await chain.told("register --wallet alice");
    assertEquals([first["uid"], first["isRegisteredBefore"], first["coldkey"]], [1, false, alice]);
    assert(BigInt(String(first["costRao"])) > 0n && BigInt(String(first["balanceRao"])) < 10n ** 15n);
    const again = await chain.told("register --wallet alice");
    assertEquals([again["uid"], again["isRegisteredBefore"]], [1, true]);
  });

  await t.step("stake comes and goes", async () => {
    await chain.refused("weights --wallet alice --set 0:1,1:3 --wait", { text: "no validator permit" });
    await chain.refused("stake --wallet alice --amount 2000000", { text: "it takes 2,000,000 TAO" });
    await chain.refused(`stake --wallet alice --hotkey ${bob} --amount 1`, { text: "HotKeyAccountNotExists" });
    assertEquals((await chain.told("stake --wallet alice --amount 1000.5"))["uid"], 1);
    const { balanceRao, isRemoval } = await chain.told("stake --wallet alice --amount 0.5 --remove");
    assertEquals([isRemoval, BigInt(String(balanceRao)) < 999_000n * 10n ** 9n], [true, true]);
    await chain.refused("stake --wallet alice --amount 900000 --remove", { text: "less than 900,000" });
  });
}

Deno.test("iota chain: register, stake, a permit, weights, and the row is in the metagraph's subnet", async (t) => {
  await withLocalChain("--block-ms 100 --tempo 5", async (chain) => {
    await buyIn(chain, t);

    await t.step("weights wait for the permit and are read back", async () => {
      const set = await chain.told("weights --wallet alice --set 0:1,1:3 --wait");
      assertEquals([set["mode"], set["weights"], set["isRowChecked"], set["uid"]], ["plain", 2, true, 1]);
      const { lines, last } = await chain.ask("weights --wallet alice");
      const rows = lines.filter(({ type }) => type === "weight").map(({ uid, value }) => [uid, value]);
      assertEquals([rows, last["weights"], last["lastUpdateBlock"]], [[[0, 21_845], [1, 65_535]], 2, set["block"]]);
      await Deno.writeTextFile(`${chain.folder}/scores.json`, JSON.stringify({ [alice]: 0.5, [bob]: 1 }));
      const from = await chain.ask("weights --wallet alice --wait --from", [`${chain.folder}/scores.json`]);
      assertEquals([from.code, from.last["weights"]], [0, 1], from.printed);
      assertStringIncludes(from.printed, bob); // left out, as it is in no subnet
    });

    await t.step("a refusal by the chain is reported before anything is sent", async () => {
      await chain.refused(`weights --wallet alice --set ${bob}=1`, { text: "not in subnet 9" });
      await chain.refused("weights --wallet alice --set 0:0", { text: "All scores are zero" });
      await chain.refused("weights --wallet alice --set 0:1 --salted", { text: "accepts weights openly" });
      await chain.refused("commit --wallet alice --reveal", { text: "no salted commit to reveal" });
      await chain.refused("metagraph --netuid 77", { text: "no subnet 77" });
    });

    await t.step("an axon is announced once", async () => {
      const words = "serve --wallet alice --ip 203.0.113.7 --port 8091";
      assertEquals((await chain.told(words))["isUnchanged"], false);
      assertEquals((await chain.told(words))["isUnchanged"], true);
      await chain.refused("serve --wallet alice --ip 127.0.0.1 --port 8091", {
        code: 2,
        text: "must not be a loopback",
      });
    });

    await t.step("the metagraph, the rules and the status say all of it", async () => {
      const { lines, last } = await chain.ask("metagraph --sort stake --limit 1");
      const { uid, hasPermit, stakeRao, axon } = lines[0]!;
      assertEquals([lines.length, uid, hasPermit], [2, 1, true]);
      assertEquals([last["neurons"], last["shown"], last["validators"]], [2, 1, 2]);
      assert(BigInt(String(stakeRao)) >= 1_000n * 10n ** 9n);
      assertEquals(axon, { ip: "203.0.113.7", port: 8091, protocol: 4, version: 1 });
      const rules = await chain.told("params");
      assertEquals([rules["tempoBlocks"], rules["weightsMode"], rules["blockMs"]], [5, "plain", 100]);
      const status = await chain.told("status --wallet alice");
      assertEquals([status["level"], status["hasPermit"], status["coldkey"]], ["good", true, alice]);
      const { stdout } = await iota(["chain", "metagraph", "--endpoint", chain.endpoint], { HOME: chain.folder });
      assertStringIncludes(stdout, "203.0.113.7:8091");
    });

    await t.step("a wallet without a coldkey gets one of its own, and tokens when it lacks them", async () => {
      const own = await chain.told("register --wallet carol");
      assert(![alice, bob].includes(String(own["coldkey"])) && own["isRegisteredBefore"] === false);
      const staked = await chain.told("stake --wallet carol --amount 5000");
      const taken = await chain.told("stake --wallet carol --amount 5000 --remove");
      assertEquals([staked["coldkey"], taken["coldkey"]], [own["coldkey"], own["coldkey"]]);
      assert(BigInt(String(taken["balanceRao"])) > 5_000n * 10n ** 9n);
    });
  });
});

Deno.test("iota chain: under commit-reveal weights are committed, and revealed by the chain or with the salt", async (t) => {
  // an epoch must outlast a drand round of 3 s and the start of two commands on a busy machine
  await withLocalChain("--block-ms 100 --tempo 200 --commit-reveal", async (chain) => {
    await t.step("the chain opens timelocked weights in the block that was told", async () => {
      const set = await chain.told("weights --wallet alice --hotkey owner --set 0:1 --wait");
      assertEquals(set["mode"], "timelocked");
      const { lines } = await chain.ask("commit --wallet alice --hotkey owner");
      assertEquals([lines[0]!["kind"], lines[0]!["revealBlock"]], ["timelocked", set["revealBlock"]]);
      await chain.block(Number(set["revealBlock"]));
      assertEquals((await chain.told("weights --wallet alice --hotkey owner"))["weights"], 1);
    });

    await t.step("salted ones need the salt of the machine that committed them", async () => {
      const set = await chain.told("weights --wallet alice --hotkey owner --set 0:1 --salted --wait");
      assertEquals(set["mode"], "salted");
      const saltFile = String(set["saltFile"]);
      await Deno.rename(saltFile, `${saltFile}.away`);
      await chain.refused("commit --wallet alice --hotkey owner --reveal --wait", { text: "their salt is not in" });
      await Deno.rename(`${saltFile}.away`, saltFile);
      const revealed = await chain.told("commit --wallet alice --hotkey owner --reveal --wait");
      assertEquals([revealed["committedBlock"], revealed["isRowChecked"]], [set["block"], true]);
      assertEquals((await chain.told("commit --wallet alice --hotkey owner"))["commits"], 0);
    });
  });
});

Deno.test("iota chain: an endpoint that is not there, or says nothing, ends the command in time", async () => {
  await withScratchFolder(async (folder) => {
    const ask = async (endpoint: string) => {
      const { code, stdout } = await iota(["chain", "metagraph", "--endpoint", endpoint, "--timeout", "1", "--json"], {
        HOME: folder,
      });
      return { code, ...JSON.parse(stdout.trimEnd().split("\n").at(-1)!) };
    };
    const silent = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    try {
      const { port } = silent.addr as Deno.NetAddr;
      const [absent, mute] = [await ask("ws://127.0.0.1:1"), await ask(`ws://127.0.0.1:${port}`)];
      for (const answer of [absent, mute]) assertEquals([answer.code, answer.type], [1, "error"]);
      assertStringIncludes(absent.message, "ws://127.0.0.1:1");
      assertStringIncludes(mute.message, `ws://127.0.0.1:${port}`);
      assertStringIncludes(absent.next, "--endpoint");
    } finally {
      silent.close();
    }
  });
});

Deno.test("iota chain: a wrong command line exits with 2 and says why", async () => {
  const check = async (words: string, says: string) => {
    const { code, stdout, stderr } = await iota(["chain", ...words.split(" "), "--json"]);
    assertEquals(code, 2, stdout + stderr);
    assertStringIncludes(stdout, says);
  };
  await check("metagrph", "Did you mean metagraph?");
  await check("metagraph --endpoint mainnet", "must be one of finney");
  await check("metagraph --netuid 0", "from 1 to 4095");
  await check("stake --wallet w", "--amount TAO");
  await check("stake --wallet w --amount 1e3", "an amount such as 0.5");
  await check("serve --wallet w --port 80", "--ip and --port");
  await check("weights --set 3;4", "UID:WEIGHT or HOTKEY=WEIGHT");
  await check("weights --wait", "--set LIST or --from FILE");
  await check("commit --wait", "--reveal");
  await check(`serve --ip 203.0.113.7 --port 80 --hotkey ${bob}`, "Cannot sign with an address");
});

Deno.test("iota chain: each action explains itself with examples", async () => {
  const actions = ["status", "metagraph", "params", "register", "stake", "serve", "weights", "commit", "local"];
  const { stdout } = await iota(["chain", "--help"]);
  for (const action of actions) {
    assertStringIncludes(stdout, `\n  ${action} `);
    const help = await iota(["chain", action, "--help"]);
    assertEquals([help.code, help.stderr], [0, ""]);
    assertStringIncludes(help.stdout, `Examples\n  iota chain ${action}`);
  }
});
