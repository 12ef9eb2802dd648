/** When epochs run while the rules change under them, and that a restart does not move them. */

import { join } from "node:path";
import { assertEquals } from "@std/assert";
import { nextEpochBlock } from "../../../../chain/epochs/epochs.ts";
import type { LocalLedger } from "../../../../chain/local/local_ledger.ts";
import { epochStateOf } from "../../../../chain/local/reads/readable_chain.ts";
import { netuid, tokens } from "../../../conformance/chain_world.ts";
import { withScratchFolder } from "../../../support/scratch_folder.ts";
import {
  blocks,
  commit,
  epoch,
  miner,
  minerUid,
  openLedger,
  populated,
  reveal,
  send,
  stake,
  submit,
  vote,
  voter,
} from "../../../support/chain/small_subnet.ts";

const predicted = (ledger: LocalLedger) => nextEpochBlock(epochStateOf(ledger, netuid));
const ranIn = (ledger: LocalLedger, from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, i) => from + i)
    .filter((block) => ledger.eventsOf(block).some(({ type }) => type === "epochRan"));

/** The tempo from a block on. */
function setTempo(ledger: LocalLedger, tempoBlocks: number): void {
  ledger.setHyperparameters(netuid, { tempoBlocks });
  blocks(ledger, 1);
}

Deno.test("Stateful epochs: a shorter tempo that is over already runs one in the next block, a longer one waits", () => {
  const ledger = openLedger({ hyperparameters: { tempoBlocks: 20 } });
  blocks(ledger, 20 + 12);
  setTempo(ledger, 5); // in block 33, after that block's own epochs
  assertEquals([predicted(ledger), epoch(ledger), epoch(ledger)], [34, 34, 39]);
  setTempo(ledger, 30);
  assertEquals([predicted(ledger), epoch(ledger)], [69, 69]);
  ledger.close();
});

Deno.test("Legacy epochs: a new tempo is new arithmetic from the next block on", () => {
  const ledger = openLedger({ epochs: "legacy", hyperparameters: { tempoBlocks: 20 } });
  const first = predicted(ledger);
  assertEquals(first, epoch(ledger));
  setTempo(ledger, 6);
  const due = predicted(ledger);
  assertEquals([due, epoch(ledger)], [due, due]);
  assertEquals(epoch(ledger), due! + 7); // legacy periods are one block longer than the tempo
  ledger.close();
});

for (const epochs of ["stateful", "legacy"] as const) {
  Deno.test(`${epochs} epochs: a tempo of zero stops them, and emission waits for the next one`, () => {
    const ledger = openLedger({ epochs, hyperparameters: { tempoBlocks: 5 } });
    const last = epoch(ledger);
    setTempo(ledger, 0);
    assertEquals(predicted(ledger), null);
    const { number } = blocks(ledger, 60);
    assertEquals(ranIn(ledger, last + 1, number), []);
    const pots = ledger.state.get("pots", `${netuid}`);
    assertEquals(pots.ownerRao + pots.minersRao + pots.validatorsRao, BigInt(number - last) * tokens(1));
    setTempo(ledger, 5);
    const due = predicted(ledger);
    assertEquals(epoch(ledger), due);
    const emptied = ledger.state.get("pots", `${netuid}`);
    assertEquals(emptied.ownerRao + emptied.minersRao + emptied.validatorsRao, 0n);
    ledger.close();
  });
}

Deno.test("An epoch that was asked for comes early, and its commits are of the new epoch", () => {
  const ledger = populated({ hyperparameters: { tempoBlocks: 50, isCommitReveal: true, weightsRateLimitBlocks: 0 } });
  const asked = ledger.head().number + 10;
  assertEquals(send(ledger, commit(1), voter.publicKey), null);
  ledger.state.change("clock", `${netuid}`, { pendingEpochAtBlock: asked });
  assertEquals(epoch(ledger), asked);
  assertEquals(send(ledger, reveal(1), voter.publicKey), null);
  assertEquals(epoch(ledger), asked + 50);
  ledger.close();
});

Deno.test("A safety net runs an epoch after 50,400 blocks whatever the clock says", () => {
  const ledger = openLedger({ hyperparameters: { tempoBlocks: 65_000 } });
  ledger.state.change("clock", `${netuid}`, { blocksSinceLastStep: 50_395 });
  blocks(ledger, 1);
  const due = predicted(ledger);
  assertEquals([due, epoch(ledger)], [6, 6]);
  ledger.close();
});

Deno.test("Subnets have their own clocks", () => {
  const ledger = openLedger({ networkMinLockRao: tokens(1), hyperparameters: { tempoBlocks: 10 } });
  blocks(ledger, 3);
  assertEquals(send(ledger, { type: "registerNetwork", hotkey: voter.address }), null); // block 4
  blocks(ledger, 20);
  const subnets = Array.from({ length: 24 }, (_, i) => i + 1).flatMap((block) =>
    ledger.eventsOf(block).flatMap((event) => event.type === "epochRan" ? [`${event.netuid}@${block}`] : [])
  );
  assertEquals(subnets, ["9@10", "1@14", "9@20", "1@24"]);
  ledger.close();
});

Deno.test("A restart between commit and reveal changes no block, no clock and no row", async () => {
  await withScratchFolder((folder) => {
    const rules = { hyperparameters: { isCommitReveal: true, tempoBlocks: 10 } };
    /** Commits, then reveals in the epoch after; `pause` stands between any two blocks. */
    const live = (path: string, pause: (ledger: LocalLedger) => LocalLedger): string[] => {
      let ledger = populated(rules, path);
      submit(ledger, commit(7), voter.publicKey);
      for (let i = 0; i < 24; i++) {
        blocks(ledger, 1);
        if (ledger.head().number === 24) submit(ledger, reveal(7), voter.publicKey);
        else ledger = pause(ledger);
      }
      assertEquals(ledger.storage("SubtensorModule.Weights", [netuid, 1]), [[minerUid, 65_535]]);
      const hashes = Array.from({ length: 35 }, (_, number) => ledger.blockHash(number)!.toHex());
      ledger.close();
      return hashes;
    };
    const steady = live(join(folder, "steady.db"), (ledger) => ledger);
    const path = join(folder, "restarted.db");
    const restarted = live(path, (ledger) => {
      ledger.close();
      return openLedger(rules, path);
    });
    assertEquals(restarted, steady);
  });
});

Deno.test("A voting validator keeps its bonds through epochs, and loses them with its permit", () => {
  const ledger = populated({ hyperparameters: { tempoBlocks: 10, emissionPerBlockRao: 0n, maxValidators: 1 } });
  assertEquals(send(ledger, vote([minerUid], [1]), voter.publicKey), null);
  epoch(ledger);
  epoch(ledger); // bonds to neurons younger than an epoch are forgotten
  const bonds = () => ledger.storage("SubtensorModule.Bonds", [netuid, 1]) as unknown[];
  assertEquals(bonds().length, 1);
  assertEquals(send(ledger, stake(miner, tokens(5_000))), null);
  epoch(ledger);
  assertEquals(ledger.storage("SubtensorModule.ValidatorPermit", [netuid]), [true, false, true]);
  assertEquals(bonds(), []);
  ledger.close();
});
