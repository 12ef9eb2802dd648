/** The embedded chain on disk: what a killed process leaves, and every way in which a file can be unusable. */

import { DatabaseSync } from "node:sqlite";
import { join } from "node:path";
import { assert, assertEquals, assertThrows } from "@std/assert";
import { aliceAddress, bobAddress, localGenesis } from "../../../../chain/local/block/genesis.ts";
import { LocalLedger } from "../../../../chain/local/local_ledger.ts";
import { ChainStoreError } from "../../../../chain/local/state/chain_store.ts";
import { decodeAddress } from "../../../../chain/wallet/ss58.ts";
import { withScratchFolder } from "../../../support/scratch_folder.ts";

const genesis = localGenesis();
const alice = decodeAddress(aliceAddress)!;

/** Blocks with something in each. */
function grow(ledger: LocalLedger, blocks: number): void {
  for (let i = 0; i < blocks; i++) {
    const call = { type: "transfer", to: bobAddress, amountRao: 1_000n } as const;
    ledger.submit({ from: alice, nonce: ledger.nonceOf(alice), call });
    ledger.produceBlock(ledger.head().timestampMs + 1_000);
  }
}

const open = (path: string) => LocalLedger.open({ path, genesis });

function assertRefused(path: string, code: ChainStoreError["code"], words: string, other = genesis): void {
  const error = assertThrows(() => LocalLedger.open({ path, genesis: other }), ChainStoreError, words);
  assertEquals(error.code, code);
}

/** A chain of 40 blocks, closed; then its file is changed behind its back. */
async function damage(change: (db: DatabaseSync) => void, words: string): Promise<void> {
  await withScratchFolder((folder) => {
    const path = join(folder, "chain.db");
    const ledger = open(path);
    grow(ledger, 40);
    ledger.close();
    const db = new DatabaseSync(path);
    change(db);
    db.close();
    assertRefused(path, "damaged", words);
  });
}

Deno.test("Chain store: reopened, the chain continues with the same hashes as one that was never closed", async () => {
  await withScratchFolder((folder) => {
    const steady = LocalLedger.open({ path: ":memory:", genesis });
    grow(steady, 60);
    const path = join(folder, "chain.db");
    for (let i = 0; i < 3; i++) {
      const ledger = open(path);
      assertEquals(ledger.head().number, 20 * i);
      grow(ledger, 20);
      ledger.close();
    }
    const reopened = LocalLedger.open({ path, genesis: null });
    assertEquals(reopened.head(), { ...steady.head(), outcomes: reopened.head().outcomes }); // submissions restart at zero
    assertEquals(reopened.genesis, genesis);
    assertEquals(reopened.storage("System.Account", [alice]), steady.storage("System.Account", [alice]));
    reopened.close();
    steady.close();
  });
});

Deno.test("Chain store: a process killed at any byte of a write leaves a whole block", async () => {
  await withScratchFolder((folder) => {
    const path = join(folder, "chain.db");
    const ledger = open(path);
    grow(ledger, 30);
    const file = Deno.readFileSync(path), log = Deno.readFileSync(`${path}-wal`);
    const heights = new Set<number>();
    const first = 64 * 1024; // the schema and the first blocks; a log cut before them holds no chain
    for (let cut = log.length; cut > first; cut -= Math.ceil((log.length - first) / 40)) {
      const copy = join(folder, `cut-${cut}.db`);
      Deno.writeFileSync(copy, file);
      Deno.writeFileSync(`${copy}-wal`, log.subarray(0, cut));
      const survivor = open(copy);
      const { number, hash } = survivor.head();
      assertEquals(hash, ledger.blockHash(number)!, `cut at ${cut}`);
      heights.add(number);
      grow(survivor, 2);
      survivor.close();
    }
    assert(heights.size > 10 && heights.has(30), `chains of heights ${[...heights]} survived`);
    ledger.close();
  });
});

Deno.test("Chain store: one process at a time", async () => {
  await withScratchFolder((folder) => {
    const path = join(folder, "chain.db");
    const ledger = open(path);
    assertRefused(path, "locked", "another process is using it");
    ledger.close();
    open(path).close();
  });
});

Deno.test("Chain store: another genesis needs another file", async () => {
  await withScratchFolder((folder) => {
    const path = join(folder, "chain.db");
    open(path).close();
    assertRefused(path, "foreign", "another genesis", localGenesis({ hyperparameters: { tempoBlocks: 99 } }));
    assertThrows(
      () => LocalLedger.open({ path: join(folder, "new.db"), genesis: null }),
      ChainStoreError,
      "there is none",
    );
  });
});

Deno.test("Chain store: a changed record does not give the state root", async () => {
  const richer = "update record set text = replace(text, '1', '2') where tab = 'account'";
  await damage((db) => db.exec(richer), "state root of block 40");
});

Deno.test("Chain store: a missing record does not either", async () => {
  await damage((db) => db.exec("delete from record where tab = 'stake' or tab = 'uid'"), "state root of block 40");
});

Deno.test("Chain store: blocks must follow each other", async () => {
  await damage((db) => db.exec("delete from block where number = 17"), "block 18 does not follow");
});

Deno.test("Chain store: the newest header must have its hash", async () => {
  await damage(
    (db) => db.exec("update block set calls_root = zeroblob(32) where number = 40"),
    "does not have its hash",
  );
});

Deno.test("Chain store: a file that is not a database is reported as such", async () => {
  await withScratchFolder((folder) => {
    const path = join(folder, "chain.db");
    Deno.writeTextFileSync(path, "this is a text of some length, and no database at all. ".repeat(100));
    assertRefused(path, "damaged", "the file is damaged");
  });
});

Deno.test("Chain store: a chain of the version before, whose blocks kept no events of calls, is read", async () => {
  await withScratchFolder((folder) => {
    const path = join(folder, "chain.db");
    const ledger = open(path);
    grow(ledger, 3);
    const kept = ledger.head();
    ledger.close();
    const db = new DatabaseSync(path);
    const blocks = db.prepare("select number, body from block").all() as { number: number; body: string }[];
    for (const { number, body } of blocks) {
      const older = JSON.parse(body) as { outcomes: { events?: unknown }[] };
      for (const outcome of older.outcomes) delete outcome.events;
      db.prepare("update block set body = ? where number = ?").run(JSON.stringify(older), number);
    }
    db.close();
    const reopened = LocalLedger.open({ path, genesis: null });
    assertEquals(reopened.head(), { ...kept, outcomes: kept.outcomes.map((outcome) => ({ ...outcome, events: [] })) });
    assertEquals(reopened.eventsOf(2), []);
    grow(reopened, 1);
    assertEquals(reopened.head().outcomes[0]!.events.map(({ type }) => type), ["transferred", "feePaid"]);
    reopened.close();
  });
});
