/** A validator's weights from scores to the chain's storage, with the real duty, disk and ledger; blocks come when a test says so. */

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { type Chain, ChainError } from "../../chain/chain.ts";
import type { DutyRecord } from "../../chain/duty/duty.ts";
import "../../chain/duty/sealed_call.ts"; // loaded now, so that sealing takes no turn of the event loop
import type { GenesisOptions } from "../../chain/local/block/genesis.ts";
import { LocalChain } from "../../chain/local/local_chain.ts";
import { hotkeyOfMiniSecret } from "../../chain/wallet/hotkey.ts";
import { DutyFolder } from "../../cli/chain/duty/duty_folder.ts";
import { WeightKeeper } from "../../cli/chain/duty/weight_keeper.ts";
import { ChainWorld, miner, netuid, otherMiner, stranger, uids } from "../conformance/chain_world.ts";
import { idle } from "../support/idle.ts";
import { countingRandom, ManualTimers } from "../support/net/manual_timers.ts";
import { withScratchFolder } from "../support/scratch_folder.ts";

const signer = hotkeyOfMiniSecret(new Uint8Array(32).fill(4)); // the world's validator
const stored = [{ uid: uids.miner, value: 65_535 }, { uid: uids.otherMiner, value: 21_845 }];
const scores = { [miner.address]: 3, [otherMiner.address]: 1, [stranger.address]: 5 };
const timelocked = { hyperparameters: { isCommitReveal: true, tempoBlocks: 20 } };

/** Keepers live one after another on one chain and one folder, as restarts of one validator. */
class KeeperWorld {
  readonly records: DutyRecord[] = [];
  readonly health: string[] = [];
  readonly warnings: string[] = [];
  failsNext = false; // the next call is not sent
  unreadable: string | null = null; // why no read gets an answer
  #sends = 0;
  #sent = Promise.withResolvers<void>();

  private constructor(readonly world: ChainWorld, readonly folder: string) {}

  static async run(options: GenesisOptions, body: (world: KeeperWorld) => Promise<void>): Promise<void> {
    await withScratchFolder(async (folder) => {
      const world = await ChainWorld.open((ledger) => Promise.resolve(newChain(ledger)), options);
      try {
        await world.populate();
        await body(new KeeperWorld(world, folder));
      } finally {
        await world.close();
      }
    });
  }

  async open(folder = this.folder): Promise<WeightKeeper> {
    const chain: Chain = newChain(this.world.ledger);
    const send = chain.send.bind(chain);
    chain.send = (...given) => {
      const receipt = this.failsNext ? Promise.reject(new ChainError("unreachable", "no node")) : send(...given);
      this.failsNext = false;
      this.#sends += 1;
      this.#sent.resolve();
      return receipt;
    };
    const metagraph = chain.metagraph.bind(chain);
    chain.metagraph = () =>
      this.unreadable === null ? metagraph() : Promise.reject(new ChainError("badAnswer", this.unreadable));
    const facts = await chain.facts();
    return new WeightKeeper({
      ...{ chain, facts, signer, versionKey: 0n, timers: new ManualTimers(), random: countingRandom() },
      folder: new DutyFolder({
        folder,
        genesisHash: facts.genesisHash,
        warn: (text) => this.warnings.push(text),
      }),
      onRecord: (record) => this.records.push(record),
      onHealth: ({ level, sentences }) => this.health.push(`${level}: ${sentences.join("; ")}`),
    });
  }

  get sends(): number {
    return this.#sends;
  }

  count(type: DutyRecord["type"]): number {
    return this.records.filter((record) => record.type === type).length;
  }

  /** Blocks, each with everything it causes; a call that is being sealed is waited for. */
  async blocks(count: number): Promise<void> {
    for (let i = 0; i < count; i++) {
      await this.world.blocks(1);
      await idle();
      if (this.count("sent") > this.#sends) await this.#sent.promise;
      this.#sent = Promise.withResolvers();
      await idle();
    }
  }

  row(): Promise<readonly { uid: number; value: number }[]> {
    return this.world.chain.weightsOf({ uid: uids.validator, mechanism: 0 });
  }
}

const newChain = (ledger: ChainWorld["ledger"]) => new LocalChain({ ledger, netuid });

Deno.test("Weight keeper: scores become the row in storage, once an epoch, strangers left out", async () => {
  await KeeperWorld.run({}, async (world) => {
    const keeper = await world.open();
    keeper.scored(0, scores);
    await world.blocks(12);
    assertEquals(await world.row(), stored);
    assertEquals([world.count("landed"), world.count("rowChecked"), world.count("refused")], [1, 1, 0]);
    await world.blocks(20);
    assertEquals(world.count("landed"), 3, "one an epoch");
    await keeper.close();
  });
});

Deno.test("Weight keeper: where weights are hidden they are sealed, and the chain opens them", async () => {
  await KeeperWorld.run(timelocked, async (world) => {
    const keeper = await world.open();
    keeper.scored(0, scores);
    while (world.count("landed") === 0) await world.blocks(1);
    assertEquals(await world.row(), []);
    assertEquals((await world.world.chain.pendingCommits({ hotkey: signer.address, mechanism: 0 })).length, 1);
    await world.blocks(24);
    assertEquals(await world.row(), stored);
    assert(world.count("rowChecked") >= 1 && world.count("rowMissing") === 0);
    await keeper.close();
  });
});

Deno.test("Weight keeper: killed after sending, it sends nothing twice and still sees the row arrive", async () => {
  await KeeperWorld.run(timelocked, async (world) => {
    const first = await world.open();
    first.scored(0, scores);
    while (world.sends === 0) await world.blocks(1);
    await first.close(); // its call is in the pool, its answer is lost
    const second = await world.open();
    await world.blocks(4);
    assertEquals(world.sends, 1);
    assertEquals(world.count("landed"), 1, "found on the chain");
    await world.blocks(24);
    assertEquals(await world.row(), stored);
    assertEquals(world.warnings, []);
    await second.close();
  });
});

Deno.test("Weight keeper: a call that could not be sent is sent again a block later", async () => {
  await KeeperWorld.run({}, async (world) => {
    const keeper = await world.open();
    keeper.scored(0, scores);
    world.failsNext = true;
    await world.blocks(12);
    assertEquals(await world.row(), stored);
    assertEquals([world.count("refused"), world.count("landed"), world.sends], [1, 1, 2]);
    await keeper.close();
  });
});

Deno.test("Weight keeper: a run that is over waits until its last scores are on the chain", async () => {
  await KeeperWorld.run({}, async (world) => {
    const keeper = await world.open();
    keeper.scored(0, { [miner.address]: 1 });
    await world.blocks(12);
    keeper.scored(1, scores);
    let isSettled = false;
    const settled = keeper.settled().then(() => isSettled = true);
    await idle();
    assertEquals(isSettled, false);
    await world.blocks(14);
    assertEquals(isSettled, true);
    await settled;
    assertEquals(await world.row(), stored);
    await keeper.close();
  });
});

Deno.test("Weight keeper: a row that can never land does not hold up the end", async () => {
  await KeeperWorld.run({}, async (world) => {
    const keeper = await world.open();
    keeper.scored(0, { [stranger.address]: 1 });
    await world.blocks(1);
    const settled = keeper.settled();
    await world.blocks(45);
    await settled;
    assertEquals(await world.row(), []);
    assertStringIncludes(world.health.join("\n"), "alarm");
    await keeper.close();
  });
});

Deno.test("Weight keeper: a state file that is broken is put aside, and the duty begins anew", async () => {
  await KeeperWorld.run({}, async (world) => {
    const first = await world.open();
    first.scored(0, scores);
    await world.blocks(12);
    await first.close();
    const [file] = [...Deno.readDirSync(world.folder)];
    const path = `${world.folder}/${file!.name}`;
    assertEquals(Deno.statSync(path).mode! & 0o777, 0o600);
    for (const text of ["{", "[]", JSON.stringify({ format: "iota-duty-1", state: { headBlock: "many" } })]) {
      Deno.writeTextFileSync(path, text);
      const again = await world.open();
      await again.close();
      assertStringIncludes(world.warnings.pop()!, "put aside");
      assertEquals(Deno.readTextFileSync(`${path}.broken`), text);
    }
  });
});

Deno.test("Weight keeper: a folder that cannot be written is a warning, and the weights still land", async () => {
  await KeeperWorld.run({}, async (world) => {
    Deno.writeTextFileSync(`${world.folder}/file`, "");
    const keeper = await world.open(`${world.folder}/file`);
    keeper.scored(0, scores);
    await world.blocks(12);
    assertEquals(await world.row(), stored);
    assertEquals(world.warnings.length, 1, "said once");
    await keeper.close();
  });
});

Deno.test("Weight keeper: a chain that cannot be read is said to be so, from the first look on and without what was seen before", async () => {
  await KeeperWorld.run({}, async (world) => {
    world.unreadable = "Cannot do this as the chain's runtime has no get_metagraph";
    const keeper = await world.open();
    await world.blocks(2);
    const problem = `alarm: the chain could not be read: ${world.unreadable}`;
    assertEquals(world.health, [problem]);
    world.unreadable = null;
    await world.blocks(1);
    assertStringIncludes(world.health.at(-1)!, "waiting: no scores yet");
    world.unreadable = "Cannot reach the chain for 60 s";
    await world.blocks(12);
    assertEquals(world.health.at(-1), `alarm: the chain could not be read: ${world.unreadable}`);
    assertEquals(keeper.health(), { level: "alarm", sentences: [`the chain could not be read: ${world.unreadable}`] });
    await keeper.close();
  });
});
