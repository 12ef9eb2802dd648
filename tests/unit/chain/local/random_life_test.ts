/** What holds after every block of a random life, and that a life does not depend on the process that lives it. */

import { join } from "node:path";
import { assert, assertEquals, assertGreaterOrEqual, assertLessOrEqual } from "@std/assert";
import { heldRao } from "../../../../chain/local/epoch/emission.ts";
import { LocalLedger } from "../../../../chain/local/local_ledger.ts";
import { neuronsOf } from "../../../../chain/local/state/neurons.ts";
import { keyOf, type TableName, textOfRecord, theChain } from "../../../../chain/local/state/records.ts";
import { State } from "../../../../chain/local/state/state.ts";
import { netuid } from "../../../conformance/chain_world.ts";
import { liveBlock, randomLifeGenesis } from "../../../support/chain/random_subnet_life.ts";
import { withScratchFolder } from "../../../support/scratch_folder.ts";
import { openLedger } from "../../../support/chain/small_subnet.ts";
import { isWhole } from "../../../support/whole.ts";

const tableSet: Readonly<Record<TableName, true>> = {
  ...{ chain: true, account: true, hotkey: true, subnet: true, clock: true, pots: true, uid: true, neuron: true },
  ...{ seat: true, weights: true, bonds: true, stake: true, salted: true, timelocked: true },
  ...{ commitment: true, commitmentSpace: true },
};
const tables = Object.keys(tableSet) as TableName[];
const mechanismStride = 4_096;

/** The root computed from the records alone. */
function countedRoot({ state }: LocalLedger): Uint8Array {
  const counted = new State();
  for (const table of tables) {
    for (const key of state.keys(table)) {
      const value = state.get(table, key);
      counted.load(table, key, { text: textOfRecord(value), value });
    }
  }
  return counted.root;
}

function assertSound(ledger: LocalLedger, seed: number): void {
  const { state } = ledger;
  const { number, hash } = ledger.head();
  const at = `seed ${seed}, block ${number}`;
  const { issuanceRao, remainderRao, netuids } = state.get("chain", theChain);
  assertEquals(issuanceRao, heldRao(state), at);
  const amounts = [
    remainderRao,
    ...state.keys("account").map((key) => state.get("account", key).freeRao),
    ...state.keys("stake").map((key) => state.get("stake", key)),
    ...state.keys("pots").flatMap((key) => Object.values(state.get("pots", key))),
  ];
  assert(amounts.every((rao) => rao >= 0n), at);
  assertEquals(ledger.header(hash)?.stateRoot, countedRoot(ledger), at);
  for (const subnet of netuids) assertSubnet(ledger, subnet, at);
}

function assertSubnet({ state }: LocalLedger, subnet: number, at: string): void {
  const { neuronCount, ownerHotkey, hyperparameters } = state.get("subnet", keyOf(subnet));
  const { maxUids, maxValidators, minBurnRao, maxBurnRao, mechanisms } = hyperparameters;
  const neurons = neuronsOf(state, subnet); // throws where one is missing
  assertLessOrEqual(neuronCount, maxUids, at);
  assertEquals(state.keys("neuron", keyOf(subnet, "")).length, neuronCount, at);
  assertEquals(state.keys("uid", keyOf(subnet, "")).length, neuronCount, at);
  neurons.forEach(({ hotkey }, uid) => assertEquals(state.get("uid", keyOf(subnet, hotkey)), uid, at));
  assertEquals(neurons[0]?.hotkey, ownerHotkey, at);
  const permits = neurons.filter(({ hotkey, hasPermit }) => hasPermit && hotkey !== ownerHotkey);
  assertLessOrEqual(permits.length, maxValidators, at); // the owner's comes on top
  assertLessOrEqual(neurons.reduce((sum, { dividends }) => sum + dividends, 0), 65_535, at);
  const { burnRao } = state.get("clock", keyOf(subnet));
  assert(burnRao >= minBurnRao && burnRao <= maxBurnRao, at);
  for (const table of ["seat", "weights", "bonds", "salted", "timelocked"] as const) {
    assertEquals(state.keys(table, keyOf(mechanisms * mechanismStride + subnet, "")), [], at); // of one that ended
  }
  for (let mechanism = 0; mechanism < mechanisms; mechanism++) {
    const index = mechanism * mechanismStride + subnet;
    assertEquals(state.keys("seat", keyOf(index, "")).length, neuronCount, at);
    const incentive = neurons.map((_, uid) => state.get("seat", keyOf(index, uid)).incentive);
    assertLessOrEqual(incentive.reduce((sum, share) => sum + share, 0), 65_535, at);
    for (const key of state.keys("weights", keyOf(index, ""))) {
      const row = state.get("weights", key);
      const targets = row.map(([target]) => target);
      assert(targets.every((target) => target < neuronCount) && new Set(targets).size === targets.length, at);
    }
    for (const key of state.keys("salted", keyOf(index, ""))) {
      assertLessOrEqual(state.get("salted", key).length, 10, at);
    }
  }
}

const lifeBlocks = 200;

// seeds whose lives have something of everything
const lives = [[3, "stateful"], [3, "legacy"], [4, "stateful"]] as const;

for (const [seed, epochs] of isWhole ? lives : lives.slice(0, 2)) {
  Deno.test(`A random life (${epochs}, seed ${seed}): tokens, seats, permits and roots are in order after every block`, () => {
    const ledger = openLedger({ ...randomLifeGenesis, epochs });
    const kinds = new Set<string>(), errors = new Set<string>();
    while (ledger.head().number < lifeBlocks) {
      liveBlock(ledger, seed);
      assertSound(ledger, seed);
      for (const { type } of ledger.eventsOf(ledger.head().number)) kinds.add(type);
      for (const { error } of ledger.head().outcomes) errors.add(error?.name ?? "none");
    }
    const lived = ["epochRan", "neuronPruned", "neuronRegistered", "weightsDropped", "weightsRevealed", "weightsSet"];
    assertEquals(lived.filter((kind) => !kinds.has(kind)), []); // a life in which nothing happens proves nothing
    assertGreaterOrEqual(errors.size, 12, [...errors].join(" "));
    ledger.close();
  });
}

/** Every hash of a life, the process of which dies whenever `diesAfter` says so: its file is copied as a kill would leave it. */
function hashesOf(folder: string, diesAfter: (block: number) => boolean): string[] {
  let path = join(folder, "life-0.db");
  let ledger = openLedger(randomLifeGenesis, path);
  for (let block = 1; block <= lifeBlocks / 2; block++) {
    liveBlock(ledger, 17);
    if (!diesAfter(block)) continue;
    const next = join(folder, `life-${block}.db`);
    for (const part of ["", "-wal"]) Deno.copyFileSync(`${path}${part}`, `${next}${part}`);
    ledger.close(); // later writes go to the old file
    path = next;
    ledger = LocalLedger.open({ path, genesis: null });
  }
  const hashes = Array.from({ length: lifeBlocks / 2 + 1 }, (_, number) => ledger.blockHash(number)!.toHex());
  ledger.close();
  return hashes;
}

Deno.test("A chain continues with the same hashes after a kill at any block, in the middle of epochs and reveals", async () => {
  const undisturbed = await withFolder((folder) => hashesOf(folder, () => false));
  const again = await withFolder((folder) => hashesOf(folder, () => false));
  const killed = await withFolder((folder) => hashesOf(folder, (block) => block % 7 === 3));
  assertEquals(again, undisturbed);
  assertEquals(killed, undisturbed);
  assertEquals(new Set(undisturbed).size, undisturbed.length);
});

async function withFolder<T>(use: (folder: string) => T): Promise<T> {
  let made: T | undefined;
  await withScratchFolder((folder) => {
    made = use(folder);
  });
  return made!;
}

Deno.test("Another seed is another life", () => {
  const headOf = (seed: number) => {
    const ledger = openLedger(randomLifeGenesis);
    for (let i = 0; i < 20; i++) liveBlock(ledger, seed);
    const { hash } = ledger.head();
    assertEquals(ledger.storage("SubtensorModule.NetworksAdded", [netuid]), true);
    ledger.close();
    return hash.toHex();
  };
  assert(headOf(5) !== headOf(6));
});
