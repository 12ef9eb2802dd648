/**
 * Encrypted extrinsics: opening what Bittensor's SDK encrypts to the local chain's key; the resulting blocks; what is
 * refused.
 */

import { assertEquals, assertRejects } from "@std/assert";
import { isForShieldKey, openShielded, shieldedParts, shieldKey } from "../../../../chain/local/rpc/shield.ts";
import { localGenesis } from "../../../../chain/local/block/genesis.ts";
import { LocalLedger } from "../../../../chain/local/local_ledger.ts";
import { netuid } from "../../../conformance/chain_world.ts";
import { type ApiWorld, withApi } from "../../../support/chain/node_api.ts";
import { alice, bob } from "../../../support/chain/node_world.ts";
import { shieldedFor } from "../../../support/chain/shielded.ts";
import vectors from "../../../vectors/chain/shielded.json" with { type: "json" };

const bytes = (hex: string): Uint8Array => Uint8Array.fromHex(hex);

Deno.test("Shield: what Bittensor's SDK encrypts to this chain's key opens to the bytes it was given", () => {
  assertEquals(shieldKey.toHex(), vectors.key);
  for (const { plaintext, ciphertext } of vectors.shielded) {
    const parts = shieldedParts(bytes(ciphertext))!;
    assertEquals(isForShieldKey(parts), true);
    assertEquals(openShielded(parts)?.toHex(), plaintext);
  }
});

Deno.test("Shield: bytes for another key, damaged or too short are distinguished and do not open", () => {
  const foreign = shieldedParts(bytes(vectors.foreign.ciphertext))!;
  assertEquals([isForShieldKey(foreign), openShielded(foreign)], [false, null]);
  const whole = bytes(vectors.shielded[3]!.ciphertext);
  const damaged = whole.slice();
  damaged[damaged.length - 1]! ^= 1;
  assertEquals(openShielded(shieldedParts(damaged)!), null);
  for (const length of [0, 17, 18, 100, 1130, 1145]) {
    assertEquals(shieldedParts(whole.subarray(0, length)), null, `${length}`);
  }
  const shortKem = shieldedParts(new Uint8Array(16 + 2 + 24 + 16))!;
  assertEquals([shortKem.encapsulated.length, openShielded(shortKem)], [0, null]);
});

interface ShownEvent {
  readonly phase: { toString(): string };
  readonly event: { readonly section: string; readonly method: string; readonly data: { toJSON(): unknown } };
}

/** Opens the embedded chain to the client; blocks are made when the test says so. */
async function withChain(use: (world: ApiWorld<LocalLedger>) => Promise<void>): Promise<void> {
  const ledger = LocalLedger.open({ path: ":memory:", genesis: localGenesis() });
  try {
    await withApi(ledger, use);
  } finally {
    ledger.close();
  }
}

const mine = (ledger: LocalLedger) => ledger.produceBlock(ledger.head().timestampMs + 1_000);

Deno.test("Shield: the extrinsic inside is carried out in the carrier's block, behind it", () =>
  withChain(async ({ api, ledger }) => {
    assertEquals((await api.query.mevShield!.nextKey!()).toJSON(), `0x${shieldKey.toHex()}`);
    const inner = await api.tx.subtensorModule!.burnedRegister!(netuid, bob.address).signAsync(alice, { nonce: 1 });
    const carrier = api.tx.mevShield!.submitEncrypted!(`0x${shieldedFor(inner.toU8a()).toHex()}`);
    const sent = await (await carrier.signAsync(alice, { nonce: 0 })).send();
    mine(ledger);
    const hash = await api.rpc.chain.getBlockHash(1);
    const { block } = await api.rpc.chain.getBlock(hash);
    assertEquals(block.extrinsics.slice(1).map((each) => each.hash.toHex()), [sent.toHex(), inner.hash.toHex()]);
    const events = await (await api.at(hash)).query.system!.events!() as unknown as ShownEvent[];
    assertEquals(events.map(({ phase, event }) => `${phase} ${event.section}.${event.method}`), [
      '{"applyExtrinsic":0} system.ExtrinsicSuccess',
      '{"applyExtrinsic":1} mevShield.EncryptedSubmitted',
      '{"applyExtrinsic":1} transactionPayment.TransactionFeePaid',
      '{"applyExtrinsic":1} system.ExtrinsicSuccess',
      '{"applyExtrinsic":2} balances.Withdraw',
      '{"applyExtrinsic":2} subtensorModule.NeuronRegistered',
      '{"applyExtrinsic":2} transactionPayment.TransactionFeePaid',
      '{"applyExtrinsic":2} system.ExtrinsicSuccess',
    ]);
    assertEquals((await api.query.subtensorModule!.uids!(netuid, bob.address)).toJSON(), 1);
  }));

Deno.test("Shield: a carrier whose content a pool would refuse is included alone, and one of other bytes is refused", () =>
  withChain(async ({ api, ledger }) => {
    const submit = (ciphertext: Uint8Array, nonce: number) =>
      api.tx.mevShield!.submitEncrypted!(`0x${ciphertext.toHex()}`).signAsync(alice, { nonce }).then((tx) => tx.send());
    const stale = await api.tx.subtensorModule!.burnedRegister!(netuid, bob.address).signAsync(alice, { nonce: 0 });
    const nested = await api.tx.mevShield!.submitEncrypted!(`0x${shieldedFor(stale.toU8a()).toHex()}`)
      .signAsync(alice, { nonce: 3 });
    await submit(shieldedFor(stale.toU8a()), 0);
    await submit(shieldedFor(bytes("00")), 1);
    assertEquals(mine(ledger).outcomes.map(({ error }) => error), [null, null]);
    await assertRejects(() => submit(bytes("0011"), 2), Error, "Custom error: 23");
    await assertRejects(() => submit(bytes(vectors.foreign.ciphertext), 2), Error, "Custom error: 24");
    await assertRejects(() => submit(new Uint8Array(8_193), 2), Error, "at most 8192 bytes");
    await submit(shieldedFor(nested.toU8a()), 2);
    assertEquals(mine(ledger).outcomes.length, 1);
  }));
