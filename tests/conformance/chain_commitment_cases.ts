/** What every `Chain` promises about the texts that hotkeys publish about themselves. */

import { assert, assertEquals } from "@std/assert";
import type { ChainCall, CommitmentField } from "../../chain/call.ts";
import { type ChainCase, coldkey, miner, netuid, otherMiner, ownerHotkey, stranger } from "./chain_world.ts";

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
const raw = (text: string): CommitmentField => ({ kind: "raw", bytes: bytesOf(text) });
const publish = (...fields: CommitmentField[]): ChainCall => ({ type: "setCommitment", netuid, fields });
const hash = (kind: "blakeTwo256" | "sha256" | "keccak256" | "shaThree256", fill: number): CommitmentField => ({
  ...{ kind, bytes: new Uint8Array(32).fill(fill) },
});
const spaceBytes = 3_100; // of an epoch
const longest: CommitmentField = { kind: "bigRaw", bytes: new Uint8Array(512).fill(7) };

export function commitmentCases(test: ChainCase): void {
  test("what hotkeys publish is read by hotkey, in the order asked, the newest only", {}, async (world) => {
    const { chain } = world;
    assertEquals(await chain.commitmentsOf([]), []);
    assertEquals(await chain.commitmentsOf([ownerHotkey.address, miner.address]), []);
    await world.included({ type: "burnedRegister", netuid, hotkey: miner.address }, coldkey);
    await world.included(publish(raw("first")), ownerHotkey);
    const second = await world.included(publish(raw("second")), ownerHotkey);
    const other = await world.included(publish(raw("")), miner);
    assertEquals(await chain.commitmentsOf([miner.address, stranger.address, ownerHotkey.address]), [
      { hotkey: miner.address, block: other, fields: [raw("")] },
      { hotkey: ownerHotkey.address, block: second, fields: [raw("second")] },
    ]);
  });

  test("every kind of field reads back as published", {}, async (world) => {
    const published: readonly CommitmentField[][] = [
      [{ kind: "raw", bytes: new Uint8Array(128).fill(255) }, { kind: "none", bytes: new Uint8Array(0) }, longest],
      [hash("blakeTwo256", 1), hash("sha256", 2), hash("keccak256", 3)],
      [hash("shaThree256", 4)],
      [],
    ];
    for (const fields of published) {
      await world.included(publish(...fields), ownerHotkey);
      assertEquals((await world.chain.commitmentsOf([ownerHotkey.address]))[0]?.fields, fields);
    }
  });

  test("only a hotkey registered in the subnet may publish", {}, async (world) => {
    await world.refused(publish(raw("here")), stranger, "AccountNotAllowedCommit");
    await world.refused({ ...publish(raw("here")), netuid: 99 } as ChainCall, ownerHotkey, "AccountNotAllowedCommit");
    assertEquals(await world.chain.commitmentsOf([stranger.address]), []);
    await world.included({ type: "burnedRegister", netuid, hotkey: otherMiner.address }, coldkey);
    await world.included(publish(raw("here")), otherMiner);
  });

  const slow = { hyperparameters: { tempoBlocks: 30 } };
  test("publishing is free, and bounded in every epoch: a short text counts 100 bytes", slow, async (world) => {
    await world.epoch();
    const before = await world.chain.balanceOf(ownerHotkey.address);
    await world.included(publish(raw("x")), ownerHotkey);
    const threeLong = publish(longest, longest, longest);
    await world.included(threeLong, ownerHotkey);
    for (let usedBytes = 100 + 3 * 512; usedBytes + 512 <= spaceBytes; usedBytes += 512) {
      await world.included(publish(longest), ownerHotkey);
    }
    await world.refused(publish(longest), ownerHotkey, "SpaceLimitExceeded");
    await world.refused(threeLong, ownerHotkey, "SpaceLimitExceeded");
    assertEquals(await world.chain.balanceOf(ownerHotkey.address), before);
    await world.epoch();
    const block = await world.included(publish(raw("again")), ownerHotkey);
    assert((await world.chain.commitmentsOf([ownerHotkey.address]))[0]?.block === block);
  });
}
