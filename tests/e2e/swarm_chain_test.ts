/**
 * Runs that pay through a chain, as real processes: a swarm with its own chain, and an orchestrator that admits only registered
 * hotkeys.
 */

import { assert, assertEquals, assertMatch } from "@std/assert";
import { LocalLedger } from "../../chain/local/local_ledger.ts";
import { decodeAddress } from "../../chain/wallet/ss58.ts";
import { validatorStakeRao } from "../../cli/chain/duty/development_chain.ts";
import { keptChainWeights } from "../../cli/chain/duty/weights_file.ts";
import { SwarmChain } from "../../cli/swarm/swarm_chain.ts";
import { iota, IotaProcess, type Line } from "../support/process/iota_process.ts";
import { withScratchFolder } from "../support/scratch_folder.ts";

interface Emission {
  readonly name: string;
  readonly hotkey: string;
  readonly emissionRao: string;
}

/** The same list, with each node's stake on the chain, less the stake with which a validator began. */
function stakesIn(folder: string, nodes: readonly Emission[]): Emission[] {
  const ledger = LocalLedger.open({ path: `${folder}/chain.sqlite`, genesis: null });
  try {
    return nodes.map((node) => {
      const stakeRao = ledger.storage("SubtensorModule.TotalHotkeyAlpha", [decodeAddress(node.hotkey), 9]) as bigint;
      const stakedRao = node.name.startsWith("validator") ? validatorStakeRao : 0n;
      return { ...node, emissionRao: String(stakeRao - stakedRao) };
    });
  } finally {
    ledger.close();
  }
}

/** Takes stake back from a node of the swarm that has ended, whose chain is served again. */
async function takeStake(folder: string, hotkey: string): Promise<Line> {
  const chain = new IotaProcess(["chain", "local", "--port", "0", "--data", folder, "--json"]);
  try {
    const endpoint = String((await chain.lines.next("chainServed"))["endpoint"]);
    const given = ["--amount", "0.01", "--hotkey", hotkey, "--endpoint", endpoint, "--data", folder, "--json"];
    const { code, stdout, stderr } = await iota(["chain", "stake", "--remove", ...given]);
    assertEquals(code, 0, stdout + stderr);
    return JSON.parse(stdout.trimEnd().split("\n").at(-1)!);
  } finally {
    chain.kill("SIGINT");
    await chain.ended;
  }
}

Deno.test("Swarm on its own chain: weights are set, emission is paid for them, and a resumed run keeps the chain", async () => {
  await withScratchFolder(async (folder) => {
    const toy = ["swarm", "--size", "toy", "--device", "cpu", "--stages", "2", "--replicas", "2", "--json"];
    const first = new IotaProcess([...toy, "--steps", "20", "--data", folder]);
    const { code, stderr } = await first.ended;
    assertEquals(code, 0, stderr);
    const summary = first.lines.all.at(-1)!;
    const emission = summary["emission"] as Emission[];
    assert(Number(summary["weightsSet"]) > 0 && Number(summary["epochs"]) > 0);
    const names = ["miner-0", "miner-1", "miner-2", "miner-3", "validator-0"];
    assertEquals(emission.map(({ name }) => name), names);
    for (const { name, emissionRao } of emission) assert(BigInt(emissionRao) > 0n, `${name} earned ${emissionRao}`);
    assertEquals(stakesIn(`${folder}/chain`, emission), emission, "what is shown as earned is in the stakes");
    const taken = await takeStake(`${folder}/chain`, emission[0]!.hotkey);
    assert(BigInt(String(taken["balanceRao"])) > 10_000_000n, "a miner's coldkey gets its stake back");
    assertEquals(summary["burnedRao"], "0");
    const resumed = new IotaProcess([...toy, "--steps", "40", "--data", folder, "--resume"]);
    assertEquals((await resumed.ended).code, 0);
    const [paid] = resumed.lines.all.filter((line) => line.type === "epochPaid");
    assert(Number(paid!["block"]) > 10, "the chain went on where it was");
  });
});

Deno.test("Swarm without a chain: nothing of one is in the summary", async () => {
  await withScratchFolder(async (folder) => {
    const words = ["swarm", "--size", "toy", "--device", "cpu", "--chain", "none", "--json", "--data", folder];
    const swarm = new IotaProcess(words);
    assertEquals((await swarm.ended).code, 0);
    const { chain, weightsSet, emission } = swarm.lines.all.at(-1)!;
    assertEquals([chain, weightsSet, emission], [null, null, null]);
  });
});

/** A local chain with a coldkey that pays, and an orchestrator of a run that pays through it. */
class PaidRun {
  constructor(
    readonly folder: string,
    readonly chain: { readonly process: IotaProcess; readonly endpoint: string },
    readonly url: string,
  ) {}

  async wallet(words: string): Promise<void> {
    const { code, stderr } = await iota(["wallet", ...words.split(" "), "--data", this.folder, "--json"]);
    assertEquals(code, 0, stderr);
  }

  async onChain(words: string): Promise<void> {
    const given = ["chain", ...words.split(" "), "--endpoint", this.chain.endpoint, "--data", this.folder, "--json"];
    const { code, stdout, stderr } = await iota(given);
    assertEquals(code, 0, stdout + stderr);
  }

  node(role: "miner" | "validate", hotkey: string): IotaProcess {
    const who = ["--wallet", "bob", "--hotkey", hotkey, "--data", this.folder];
    return new IotaProcess([role, "--orchestrator", this.url, ...who, "--device", "cpu", "--json"]);
  }
}

async function withPaidRun(body: (run: PaidRun) => Promise<void>): Promise<void> {
  await withScratchFolder(async (folder) => {
    const rules = ["--block-ms", "200", "--tempo", "8", "--port", "0"];
    const chain = new IotaProcess(["chain", "local", ...rules, "--data", `${folder}/chain`, "--json"]);
    const endpoint = String((await chain.lines.next("chainServed"))["endpoint"]);
    const toy = ["--size", "toy", "--stages", "1", "--steps", "4000", "--set", `chain.network=${endpoint}`];
    const hub = new IotaProcess(["orchestrate", ...toy, "--port", "0", "--data", `${folder}/run`, "--json"]);
    try {
      const listening = await hub.lines.next("listening");
      await body(new PaidRun(folder, { process: chain, endpoint }, String(listening["url"])));
    } finally {
      hub.kill("SIGINT");
      await hub.ended;
      chain.kill("SIGINT");
      await chain.ended;
    }
  });
}

Deno.test("A run on a chain admits registered hotkeys, pays them, and reports their standing", async () => {
  await withPaidRun(async (run) => {
    await run.wallet("import --uri //Bob --name bob --coldkey --no-password");
    for (const hotkey of ["miner", "validator"]) await run.wallet(`new --name bob --hotkey ${hotkey}`);
    const stranger = run.node("miner", "miner");
    const refused = await stranger.ended;
    assertEquals(refused.code, 1);
    assertMatch(refused.stdout + refused.stderr, /is not registered on subnet 9.*iota chain register/s);

    for (const hotkey of ["miner", "validator"]) await run.onChain(`register --wallet bob --hotkey ${hotkey}`);
    const miner = run.node("miner", "miner");
    const health = await miner.lines.next("chainHealth") as Line & { uid: number; level: string };
    assertEquals([health.level, typeof health.uid], ["waiting", "number"], "no weights yet, so nothing earned");

    await run.onChain("stake --wallet bob --hotkey validator --amount 1000");
    const validator = await untilAdmitted(run);
    await validator.lines.next("weightsLanded");
    await validator.lines.next("weightsRowChecked");
    let paid = await miner.lines.next("chainHealth");
    while (paid["emissionRao"] === "0") paid = await miner.lines.next("chainHealth");
    assertEquals([paid["level"], paid["incentiveShare"]], ["good", 1]);
    for (const node of [validator, miner]) node.kill("SIGINT");
    const [{ code }] = await Promise.all([validator.ended, miner.ended]);
    assertEquals(code, 1, "stopped before the run was over");
    assertEquals([miner.lines.all.at(-1)!["uid"], validator.lines.all.at(-1)!["weightsMissing"]], [health.uid, 0]);
  });
});

/** A permit comes with an epoch: until then a validator is refused and gets the reason. */
async function untilAdmitted(run: PaidRun): Promise<IotaProcess> {
  for (;;) {
    const validator = run.node("validate", "validator");
    const outcome = await Promise.race([validator.lines.next("joined"), validator.ended]);
    if (!("code" in outcome)) return validator;
    assertMatch(outcome.stdout + outcome.stderr, /has no validator permit on subnet 9/);
    await run.chain.process.lines.next("block");
  }
}

Deno.test("Swarm's chain: an end in the middle of an epoch's readings waits for them, and says nothing", async () => {
  await withScratchFolder(async (folder) => {
    const said: string[] = [];
    const { promise: paid, resolve } = Promise.withResolvers<void>();
    const chain = await SwarmChain.open({
      folder,
      onEvent: ({ type }) => type === "epochPaid" && resolve(),
      onNews: () => {},
      onActivity: () => {},
      warn: (text) => said.push(text),
      onFailure: (error) => said.push(String(error)),
    });
    await paid;
    await chain.close();
    assertEquals(said, []);
    assert(await keptChainWeights(folder) !== null);
  });
});
