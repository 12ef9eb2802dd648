/**
 * Runs found on a chain, as real processes: nodes that know only a chain, strangers who announce baits, an owner who
 * announces a wrong key, two runs, and an orchestrator that returns at another address.
 */

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import type { ChainCall, ChainSigner } from "../../chain/call.ts";
import { SubtensorChain } from "../../chain/subtensor/subtensor_chain.ts";
import { hotkeyOfMiniSecret } from "../../chain/wallet/hotkey.ts";
import { createHotkey } from "../../chain/wallet/hotkey_files.ts";
import { keyOfSecretUri } from "../../chain/wallet/secret_uri.ts";
import { inviteText } from "../../cli/address/invite.ts";
import { nodeId } from "../../core/ids.ts";
import { systemTimers } from "../../net/timers.ts";
import { type Ended, iota, IotaProcess, type Line } from "../support/process/iota_process.ts";
import { withScratchFolder } from "../support/scratch_folder.ts";

const netuid = 9;
const alice = keyOfSecretUri("//Alice")!.pair, bob = keyOfSecretUri("//Bob")!.pair;
const stranger = hotkeyOfMiniSecret(new Uint8Array(32).fill(77));

interface Listening extends Line {
  readonly url: string;
  readonly run: string;
  readonly hub: string;
  readonly invite: string;
}

/** A local chain, and everything that is started on it. */
class Subnet {
  readonly #processes: IotaProcess[] = [];

  constructor(readonly folder: string, readonly endpoint: string) {}

  /** A file that says nothing but the chain, as the user of one keeps it. */
  get nodeFile(): string {
    return `${this.folder}/node.toml`;
  }

  orchestrate(name: string, words: readonly string[] = [], port = 0): IotaProcess {
    const place = ["--data", `${this.folder}/${name}`, "--port", `${port}`, "--json"];
    return this.#started(new IotaProcess(["orchestrate", ...words, ...place]));
  }

  async node(role: "miner" | "validate", name: string, words: readonly string[] = []): Promise<IotaProcess> {
    const key = { folder: `${this.folder}/wallets`, wallet: name, hotkey: "default" };
    await createHotkey(key).catch(() => {/* it has one */});
    const who = ["--wallet", name, "--wallet-path", key.folder, "--data", `${this.folder}/${name}`];
    const all = [role, "--config", this.nodeFile, ...who, "--device", "cpu", "--json", ...words];
    return this.#started(new IotaProcess(all));
  }

  async runs(): Promise<{ runs: readonly Line[]; summary: Line }> {
    const { code, stdout, stderr } = await iota(["runs", "--chain", this.endpoint, "--json"]);
    assertEquals(code, 0, stdout + stderr);
    const lines = stdout.trimEnd().split("\n").map((line) => JSON.parse(line) as Line);
    return { runs: lines.filter(({ type }) => type === "run"), summary: lines.at(-1)! };
  }

  /** What anyone with a key may do. */
  async send(call: ChainCall, signer: ChainSigner): Promise<void> {
    const endpoints = { urls: [this.endpoint], archiveUrls: [], isPublic: false };
    const chain = await SubtensorChain.connect({ endpoints, netuid, timers: systemTimers, dice: () => 0.5 });
    try {
      const receipt = await chain.send(call, signer);
      assertEquals(receipt.status, "included", JSON.stringify(receipt));
    } finally {
      await chain.close();
    }
  }

  async publish(invite: { socket: string; run: string; hub: string }, signer: ChainSigner): Promise<void> {
    const bytes = new TextEncoder().encode(inviteText({ ...invite, hub: nodeId(invite.hub) })!);
    await this.send({ type: "setCommitment", netuid, fields: [{ kind: "raw", bytes }] }, signer);
  }

  async end(): Promise<void> {
    for (const process of this.#processes.toReversed()) await stopped(process);
  }

  #started(process: IotaProcess): IotaProcess {
    this.#processes.push(process);
    return process;
  }
}

async function stopped(process: IotaProcess): Promise<Ended> {
  try {
    process.kill("SIGINT");
  } catch {
    // it has ended by itself
  }
  return await process.ended;
}

async function withSubnet(body: (subnet: Subnet) => Promise<void>): Promise<void> {
  await withScratchFolder(async (folder) => {
    const rules = ["--block-ms", "200", "--tempo", "8", "--port", "0"];
    const chain = new IotaProcess(["chain", "local", ...rules, "--data", `${folder}/chain`, "--json"]);
    const endpoint = String((await chain.lines.next("chainServed"))["endpoint"]);
    const subnet = new Subnet(folder, endpoint);
    await Deno.writeTextFile(subnet.nodeFile, `chain = "${endpoint}"\n`);
    try {
      await body(subnet);
    } finally {
      await subnet.end();
      await stopped(chain);
    }
  });
}

function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}

const runFile = (endpoint: string, { stages, steps }: { stages: number; steps: number }): string =>
  [
    'name = "found"\nsize = "toy"',
    `[pipeline]\nstages = ${stages}\n[train]\nsteps = ${steps}\n[swarm]\nreplicas = 1\nvalidators = 0`,
    `[chain]\nnetwork = "${endpoint}"\nnetuid = ${netuid}\n`,
  ].join("\n");

Deno.test("Finding a run: nodes that know nothing but the chain wait for it, find it, and train; a stranger's bait is not seen", async () => {
  await withSubnet(async (subnet) => {
    const early = await subnet.node("miner", "hot");
    const searching = await early.lines.next("searching");
    assertMatch(String(searching["why"]), /no run is announced on subnet 9/);

    await subnet.send({ type: "burnedRegister", netuid, hotkey: stranger.address }, bob);
    await subnet.publish({ socket: "ws://127.0.0.1:9", run: "bait-1", hub: stranger.address }, stranger);
    const file = `${subnet.folder}/chain.toml`;
    await Deno.writeTextFile(file, runFile(subnet.endpoint, { stages: 2, steps: 10 }));
    const hub = subnet.orchestrate("run", ["--config", file]);
    const at = await hub.lines.next("listening") as Listening;
    const announced = await hub.lines.next("announced");
    assertEquals([announced["invite"], announced["netuid"]], [at.invite, netuid]);

    const found = await early.lines.next("runFound");
    assertEquals([found["run"], found["address"], found["hub"], found["by"]], [at.run, at.url, at.hub, "owner"]);
    await early.lines.next("joined");
    const validator = await subnet.node("validate", "judge");
    await validator.lines.next("joined");
    const { runs, summary } = await subnet.runs();
    assertEquals(
      runs.map(({ run, address, hub, invite, by, isReachable }) => [run, address, hub, invite, by, isReachable]),
      [
        [at.run, at.url, at.hub, at.invite, "owner", true],
      ],
    );
    assertEquals([summary["runs"], summary["reachable"]], [1, 1]);

    const shown = await iota(["runs", "--chain", subnet.endpoint]);
    assertStringIncludes(shown.stdout, `iota miner --orchestrator '${at.invite}'`);
    const last = await subnet.node("miner", "late"); // now there is one for each stage
    assertEquals((await hub.ended).code, 0);
    for (const node of [early, last, validator]) {
      const { code, stdout, stderr } = await node.ended;
      assertEquals(code, 0, stdout.slice(-2_000) + stderr);
    }
    assertEquals((await subnet.runs()).summary["runs"], 0, "a run that is over is announced no more");
  });
});

Deno.test("Finding a run: the key is pinned, --run picks one of two, and an orchestrator that moved is followed", async (t) => {
  await withSubnet(async (subnet) => {
    const file = `${subnet.folder}/chain.toml`;
    await Deno.writeTextFile(file, runFile(subnet.endpoint, { stages: 1, steps: 100_000 }));
    const first = subnet.orchestrate("first", ["--config", file]);
    const at = await first.lines.next("listening") as Listening;
    await first.lines.next("announced");

    await t.step(
      "an announcement with a wrong key for the right address is passed over; the only one is waited for, with the reason",
      async () => {
        await subnet.publish({ socket: at.url, run: at.run, hub: stranger.address }, alice);
        const miner = await subnet.node("miner", "warned");
        assertEquals((await miner.lines.next("runFound"))["hub"], at.hub);
        await miner.lines.next("joined");
        await stopped(miner);
        const deceived = await subnet.node("miner", "deceived", ["--hub", stranger.address]);
        const why = String((await deceived.lines.next("searching"))["why"]);
        assertStringIncludes(why, `${at.run} at ${at.url}`);
        assertStringIncludes(why, `address is ${at.hub}, not the expected ${stranger.address}`);
        deceived.kill("SIGTERM");
        const { code, stderr } = await deceived.ended;
        const { type, node, finished, reason } = deceived.lines.all.at(-1)!;
        assertEquals([code, type, finished, reason], [0, "summary", false, "interrupted"], stderr);
        assertEquals([typeof node, stderr.includes("error")], ["string", false]);
        await subnet.send({ type: "setCommitment", netuid, fields: [] }, alice);
      },
    );

    const second = subnet.orchestrate("second", ["--config", file, "--set", "name=other"]);
    const other = await second.lines.next("listening") as Listening;
    await second.lines.next("announced");
    await t.step("of two runs --run picks one, also by the words of its join line", async () => {
      const { runs } = await subnet.runs();
      assertEquals(new Set(runs.map(({ run }) => run)), new Set([at.run, other.run]));
      const picked = await subnet.node("miner", "picky", ["--run", other.run]);
      assertEquals((await picked.lines.next("runFound"))["hub"], other.hub);
      await picked.lines.next("joined");
      await stopped(picked);
      const invited = await subnet.node("miner", "picky", ["--orchestrator", other.invite]);
      await invited.lines.next("joined");
      await stopped(invited);
      const strange = await subnet.node("miner", "invited", [
        "--orchestrator",
        other.invite.replace(other.run, at.run),
      ]);
      const { code, stderr } = await strange.ended;
      assertEquals(code, 1);
      assertStringIncludes(stderr, at.run);
    });

    await t.step("an orchestrator that returns at another address is found there, and work continues", async () => {
      const miner = await subnet.node("miner", "loyal", ["--run", at.run]);
      await miner.lines.next("joined");
      await miner.lines.next("stepApplied");
      await stopped(first);
      const again = subnet.orchestrate("first", ["--resume"], freePort()); // without one it takes the port it had
      const moved = await again.lines.next("listening") as Listening;
      assertEquals([moved.run, moved.hub], [at.run, at.hub]);
      assert(moved.url !== at.url);
      assertEquals((await miner.lines.next("hubMoved"))["address"], moved.url);
      await miner.lines.next("joined");
      await again.lines.next("stepClosed");
    });
  });
});

Deno.test("Finding a run: a run that was stopped stays announced, and keeps no node from one that answers as itself", async () => {
  await withSubnet(async (subnet) => {
    const file = `${subnet.folder}/chain.toml`;
    await Deno.writeTextFile(file, runFile(subnet.endpoint, { stages: 1, steps: 100_000 }));
    const port = freePort();
    const old = subnet.orchestrate("old", ["--config", file, "--set", "name=old"], port);
    const before = await old.lines.next("listening") as Listening;
    await old.lines.next("announced");
    await stopped(old);
    const waiting = await subnet.node("miner", "hot");
    assertStringIncludes(String((await waiting.lines.next("searching"))["why"]), `${before.run} at ${before.url}`);

    const hub = subnet.orchestrate("new", ["--config", file, "--set", "name=new"], port);
    const at = await hub.lines.next("listening") as Listening;
    await hub.lines.next("announced");
    assertEquals((await waiting.lines.next("runFound"))["run"], at.run);
    await waiting.lines.next("joined");
    const { runs, summary } = await subnet.runs();
    const shown = new Map(
      runs.map((line) => [line["run"], [line["isReachable"], line["answers"], line["phase"] === null]]),
    );
    assertEquals(shown.get(before.run), [false, "another", true]);
    assertEquals(shown.get(at.run), [true, "itself", false]);
    assertEquals([summary["runs"], summary["reachable"]], [2, 1]);
    const { stdout } = await iota(["runs", "--chain", subnet.endpoint]);
    assertStringIncludes(stdout, `does not answer: another orchestrator has its address, with the run ${at.run}`);
  });
});

Deno.test("Finding a run: wrong options are reported before any search", async () => {
  await withScratchFolder(async (folder) => {
    await createHotkey({ folder: `${folder}/wallets`, wallet: "hot", hotkey: "default" });
    const check = async (words: readonly string[], code: number, says: RegExp) => {
      const ended = await iota([...words, "--data", folder, "--json"], { HOME: folder });
      assertEquals([ended.code, says.test(ended.stdout)], [code, true], ended.stdout + ended.stderr);
    };
    await check(
      ["miner", "--wallet", "hot", "--orchestrator", "iota://127.0.0.1:9/run"],
      2,
      /Put the invite in quotes/,
    );
    const invite = inviteText({ socket: "ws://127.0.0.1:9", run: "a", hub: nodeId(stranger.address) })!;
    await check(
      ["miner", "--wallet", "hot", "--orchestrator", invite, "--run", "b"],
      2,
      /contradicts the invite, which names a/,
    );
    await check(["runs", "--chain", "none"], 2, /--chain none/);
    await check(["runs", "--chain", "ws://127.0.0.1:9", "--timeout", "1"], 1, /Cannot reach the chain/);
  });
});
