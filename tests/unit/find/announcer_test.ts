/**
 * An orchestrator's announcement: once, not at every start, never replacing other content, and with a next step when it
 * fails.
 */

import { assert, assertEquals, assertMatch } from "@std/assert";
import type { ChainSigner } from "../../../chain/call.ts";
import { aliceAddress, type GenesisOptions } from "../../../chain/local/block/genesis.ts";
import { readAnnouncements } from "../../../cli/address/announcements.ts";
import { Announcer } from "../../../cli/chain/duty/announcer.ts";
import { readInvite } from "../../../cli/address/invite.ts";
import { miner, netuid, ownerColdkey, ownerHotkey, stranger, validator } from "../../conformance/chain_world.ts";
import { type FindingWorld, inviteOf, withFindingWorld } from "../../support/chain/finding_world.ts";

class Hub {
  readonly told: string[] = []; // messages and warnings
  readonly announcedIn: number[] = [];
  readonly lost: string[] = [];
  readonly announcer: Announcer;

  constructor(
    readonly world: FindingWorld,
    { signer = ownerHotkey, text = inviteOf("run"), isPublic = false }: {
      signer?: ChainSigner;
      text?: string;
      isPublic?: boolean;
    } = {},
  ) {
    this.announcer = new Announcer({
      ...{ place: { network: "local", netuid }, isPublic, signer, invite: readInvite(text)! },
      onAnnounced: ({ block }) => this.announcedIn.push(block),
      say: (line) => this.told.push(line),
      warn: (line) => this.told.push(line),
      onLost: (line) => this.lost.push(line),
      onFailure: (error) => {
        throw error;
      },
    });
    this.announcer.follow(world.chain);
  }

  get last(): string {
    return this.told.at(-1) ?? "";
  }
}

/** This many blocks, each with its consequences. */
async function blocks(world: FindingWorld, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    world.block();
    for (let turns = 0; turns < 200; turns++) await Promise.resolve(); // the embedded chain needs no more
  }
}

const commitments = (world: FindingWorld): number => world.sent.filter((type) => type === "setCommitment").length;

Deno.test("Announcer: it announces once; a restart with the same address says so and sends nothing, another address does", async () => {
  await withFindingWorld({}, async (world) => {
    const first = new Hub(world);
    await blocks(world, 70);
    assertEquals(await world.published(ownerHotkey), inviteOf("run"));
    assertEquals([commitments(world), first.announcedIn.length], [1, 1]);
    const second = new Hub(world);
    await blocks(world, 3);
    assertEquals([commitments(world), second.announcedIn], [1, first.announcedIn]);
    assertMatch(second.last, /^Announced already on subnet 9 of local, in block \d+$/);
    new Hub(world, { text: inviteOf("run", "ws://203.0.113.8:9009") });
    await blocks(world, 3);
    assertEquals([commitments(world), await world.published(ownerHotkey)], [
      2,
      inviteOf("run", "ws://203.0.113.8:9009"),
    ]);
  });
});

Deno.test("Announcer: when another run takes the hotkey it warns and yields; it withdraws its own announcement at its end", async () => {
  await withFindingWorld({}, async (world) => {
    const hub = new Hub(world);
    await blocks(world, 2);
    await world.publish(inviteOf("other"), ownerHotkey);
    await blocks(world, 60);
    assertMatch(hub.last, /Another run was announced with this orchestrator's hotkey/);
    assertEquals(commitments(world), 2);
    await hub.announcer.withdraw(world.chain);
    assertEquals(await world.published(ownerHotkey), inviteOf("other"), "another's announcement stays");
  });
  await withFindingWorld({}, async (world) => {
    const hub = new Hub(world);
    await blocks(world, 2);
    await hub.announcer.withdraw(world.chain);
    await blocks(world, 60);
    assertEquals(await world.published(ownerHotkey), null, "and not announced anew");
  });
});

Deno.test("Announcer: the hotkey's other publications are not replaced", async () => {
  await withFindingWorld({}, async (world) => {
    await world.publish("https://model.example/weights", ownerHotkey);
    const hub = new Hub(world);
    await blocks(world, 60);
    assertMatch(hub.last, /published something else .* another hotkey: --wallet/);
    assertEquals(await world.published(ownerHotkey), "https://model.example/weights");
  });
});

Deno.test("Announcer: an unregistered hotkey gets the command; one without a voucher gets the reason", async () => {
  await withFindingWorld({}, async (world) => {
    const hub = new Hub(world, { signer: miner });
    await blocks(world, 20);
    assertMatch(hub.last, /iota chain register --netuid 9 --endpoint local --hotkey 5\w+$/);
    assertEquals(hub.told.length, 1, "said once");
    await world.register(miner);
    await blocks(world, 10);
    assertEquals(await world.published(miner), inviteOf("run"));
    assertMatch(hub.last, /do not trust .* or have a validator permit/);
  });
  await withFindingWorld({}, async (world) => {
    await world.register(validator);
    await world.stake(validator, 1_000);
    const hub = new Hub(world, { signer: validator });
    await blocks(world, 3);
    assertMatch(hub.last, /^Announced on subnet 9 of local/);
  });
});

Deno.test("Announcer: at the chain's limit it waits until the epoch ends", async () => {
  const slow: GenesisOptions = { hyperparameters: { tempoBlocks: 40 } };
  await withFindingWorld(slow, async (world) => {
    await blocks(world, 41);
    for (let usedBytes = 0; usedBytes + 100 <= 3_100; usedBytes += 100) {
      await world.publish(inviteOf("old"), ownerHotkey);
    }
    const before = commitments(world);
    const hub = new Hub(world);
    await blocks(world, 2);
    const due = Number(/retrying in block (\d+)$/.exec(hub.last)?.[1]);
    assert(due > world.ledger.head().number, hub.last);
    await blocks(world, due + 2 - world.ledger.head().number);
    assertEquals([await world.published(ownerHotkey), commitments(world)], [inviteOf("run"), before + 2]);
    assertEquals(hub.told.filter((line) => line.includes("not announced yet")).length, 1);
  });
});

Deno.test("Announcer: an address that only this network knows is not announced to the world", async () => {
  await withFindingWorld({}, async (world) => {
    const hub = new Hub(world, { text: inviteOf("run", "ws://127.0.0.1:9009"), isPublic: true });
    await blocks(world, 5);
    assertEquals(world.sent, []);
    assertMatch(hub.last, /not announced on the chain, as nodes elsewhere cannot reach ws:\/\/127\.0\.0\.1:9009/);
  });
});

Deno.test("Announcer: on a development chain //Alice registers it, so that it is the owner's", async () => {
  await withFindingWorld({ ownerColdkey: aliceAddress, ownerHotkey: aliceAddress }, async (world) => {
    const hub = new Hub(world, { signer: miner });
    await blocks(world, 4);
    assertEquals(world.sent, ["burnedRegister", "setCommitment"]);
    assertMatch(hub.last, /^Announced on subnet 9/);
  });
});

const crowded = { maxUids: 2, immunityPeriodBlocks: 1, burnIncreasePercent: 0 };

Deno.test("Announcer: a uid that a newcomer took on a development chain is bought back, and the run is found again", async () => {
  const owned = { ownerColdkey: aliceAddress, ownerHotkey: aliceAddress };
  await withFindingWorld({ ...owned, hyperparameters: crowded }, async (world) => {
    const hub = new Hub(world, { signer: miner });
    await blocks(world, 4);
    await world.register(stranger);
    const found = async () =>
      (await readAnnouncements(world.chain, { isPublic: false })).runs.map(({ invite }) => invite.run);
    assertEquals([await found(), hub.lost.length], [[], 0]);
    await blocks(world, 12); // an epoch takes 10
    assertEquals(hub.lost.length, 1);
    assertMatch(hub.lost[0]!, /^Nodes no longer find this run: its hotkey 5\w+ has lost its uid on subnet 9 of local/);
    assertEquals(await found(), ["run"]);
    assertMatch(hub.last, /^Announced/);
  });
});

Deno.test("Announcer: elsewhere a lost uid is said once an epoch, with the command, until it is registered again", async () => {
  await withFindingWorld({ hyperparameters: crowded }, async (world) => {
    await world.register(miner, ownerColdkey);
    const hub = new Hub(world, { signer: miner });
    await blocks(world, 2);
    assertMatch(hub.last, /^Announced on/);
    await world.register(stranger);
    await blocks(world, 35);
    assert(hub.lost.length === 3 || hub.lost.length === 4, `${hub.lost.length} times in 35 blocks of epochs of 10`);
    assertMatch(hub.last, /must be registered on subnet 9 .*: iota chain register --netuid 9/);
    await world.register(miner, ownerColdkey);
    const { length } = hub.lost;
    await blocks(world, 30);
    assertEquals(hub.lost.length, length);
    assertMatch(hub.last, /^Announced/);
  });
});

Deno.test("Announcer: a permit that is lost after the announcement is said", async () => {
  await withFindingWorld({ hyperparameters: { maxValidators: 1 } }, async (world) => {
    await world.register(validator);
    await world.stake(validator, 1_000);
    const hub = new Hub(world, { signer: validator });
    await blocks(world, 3);
    assertMatch(hub.last, /^Announced on subnet 9 of local/);
    await world.register(miner);
    await world.stake(miner, 2_000);
    await blocks(world, 25);
    assertMatch(hub.last, /do not trust .* or have a validator permit/);
  });
});
