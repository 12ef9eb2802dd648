/** The embedded chain behind the roles' interface: deadlines, signatures, closing, and subnets that are not there. */

import { assertEquals, assertRejects } from "@std/assert";
import { bobAddress } from "../../../../chain/local/block/genesis.ts";
import { LocalChain } from "../../../../chain/local/local_chain.ts";
import { LocalLedger } from "../../../../chain/local/local_ledger.ts";
import { ChainError } from "../../../../chain/chain.ts";
import { hotkeyOfMiniSecret } from "../../../../chain/wallet/hotkey.ts";
import { coldkey, netuid, stranger, tokens } from "../../../conformance/chain_world.ts";
import { endowedGenesis } from "../../../support/chain/endowed.ts";

const aliceSeed = "e5be9a5092b81bca64be81d212e7f2f9eba183bb7a90954f7b76361f6edb5c0a"; // //Alice: known to everybody
const aliceKey = hotkeyOfMiniSecret(Uint8Array.fromHex(aliceSeed));
const transfer = { type: "transfer", to: bobAddress, amountRao: tokens(1) } as const;

async function withChain(
  options: { deadlineMs?: number; netuid?: number },
  body: (chain: LocalChain, ledger: LocalLedger) => Promise<void>,
): Promise<void> {
  const ledger = LocalLedger.open({ path: ":memory:", genesis: endowedGenesis([coldkey.address]) });
  const chain = new LocalChain({ ledger, netuid, ...options });
  try {
    await body(chain, ledger);
  } finally {
    await chain.close();
    ledger.close();
  }
}

const step = (ledger: LocalLedger) => ledger.produceBlock(ledger.head().timestampMs + 1_000);

Deno.test("Local chain: a call that no block takes by the deadline has an unknown fate, and may still happen", async () => {
  await withChain({ deadlineMs: 1 }, async (chain, ledger) => {
    const before = await chain.balanceOf(bobAddress);
    assertEquals((await chain.send(transfer, coldkey)).status, "unknown");
    step(ledger);
    assertEquals(await chain.balanceOf(bobAddress), before + tokens(1));
  });
});

Deno.test("Local chain: several calls of one account go into one block in order", async () => {
  await withChain({}, async (chain, ledger) => {
    const receipts = [1, 2, 3].map(() => chain.send(transfer, coldkey));
    step(ledger);
    const blocks = (await Promise.all(receipts)).map((receipt) => receipt.status === "included" && receipt.block);
    assertEquals(blocks, [1, 1, 1]);
  });
});

Deno.test("Local chain: a signature by another key is refused", async () => {
  await withChain({}, async (chain, ledger) => {
    const forged = {
      ...coldkey,
      address: coldkey.address,
      publicKey: coldkey.publicKey,
      sign: stranger.sign.bind(stranger),
    };
    const receipt = await chain.send(transfer, forged);
    assertEquals(receipt.status === "refused" && receipt.refusal.name, "BadProof");
    assertEquals(step(ledger).outcomes, []);
  });
});

Deno.test("Local chain: closing settles what waits, and nothing can be asked afterwards", async () => {
  await withChain({}, async (chain, ledger) => {
    const receipt = chain.send(transfer, coldkey);
    const heads: number[] = [];
    chain.onHead(({ block }) => heads.push(block));
    await chain.close();
    assertEquals((await receipt).status, "unknown");
    step(ledger);
    assertEquals(heads, []);
    const error = await assertRejects(() => chain.head(), ChainError);
    assertEquals(error.code, "closed");
  });
});

Deno.test("Local chain: a subnet that does not exist is an error, not an empty one", async () => {
  await withChain({ netuid: 77 }, async (chain) => {
    const error = await assertRejects(() => chain.metagraph(), ChainError, "no such subnet");
    assertEquals(error.code, "badAnswer");
  });
});

Deno.test("Local chain: the chain refuses an invalid address, whatever it looks like", async () => {
  await withChain({}, async (chain, ledger) => {
    const serve = (ip: string) =>
      chain.send({ type: "serveAxon", netuid, axon: { ip, port: 1, protocol: 4, version: 1 } }, aliceKey);
    const receipts = ["5n", "localhost", ""].map(serve);
    step(ledger);
    for (const receipt of await Promise.all(receipts)) {
      assertEquals(receipt.status === "refused" && receipt.refusal.name, "InvalidIpType");
    }
  });
});
