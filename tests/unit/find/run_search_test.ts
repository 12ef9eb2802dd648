/** Searching for a run: whom it trusts, where it searches in which order, and what it reports while it waits. */

import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { type Chain, ChainError } from "../../../chain/chain.ts";
import { readAnnouncements } from "../../../cli/address/announcements.ts";
import { type FoundRun, RunSearch, type SearchOptions, type SearchWorld } from "../../../cli/node/find/run_search.ts";
import {
  miner,
  netuid,
  otherMiner,
  ownerColdkey,
  ownerHotkey,
  stranger,
  validator,
} from "../../conformance/chain_world.ts";
import type { Meeting } from "../../../cli/node/find/meet_hub.ts";
import { FindingWorld, inviteOf, withFindingWorld } from "../../support/chain/finding_world.ts";
import { ManualTimers } from "../../support/net/manual_timers.ts";

const place = { network: "ws://chain.example", netuid };

class Outside implements SearchWorld {
  readonly timers = new ManualTimers();
  readonly random = { bytes: (count: number) => new Uint8Array(count), unit: () => 0.5 };
  readonly opened: string[] = [];
  readonly waited: string[] = [];
  readonly stop = new AbortController();
  chains = new Map<string, FindingWorld>(); // by network
  answers: Readonly<Record<string, string>> = {}; // by run; otherwise it proves itself
  readonly greeted: string[] = [];
  isHubHere = false;
  isChainHere = false;
  #waits = Promise.withResolvers<string>();

  isPublic = (network: string): boolean => network === "finney";
  hasOwnChain = (): Promise<boolean> => Promise.resolve(this.isChainHere);
  hasOwnHub = (): Promise<boolean> => Promise.resolve(this.isHubHere);

  openChain({ network }: { network: string }): Promise<Chain> {
    this.opened.push(network);
    const world = this.chains.get(network);
    return world === undefined
      ? Promise.reject(new ChainError("unreachable", `Cannot reach ${network}`))
      : Promise.resolve(world.open());
  }

  search(options: Partial<SearchOptions> = {}): Promise<FoundRun> {
    return new RunSearch(this, {
      chain: place,
      wanted: { hub: null, run: null },
      meet: ({ run }) => Promise.resolve(this.#meet(run)),
      ownHubWords: "--orchestrator HERE",
      prepare: () => Promise.resolve(null),
      onWaiting: (why) => {
        this.waited.push(why);
        this.#waits.resolve(why);
        this.#waits = Promise.withResolvers();
      },
      giveUpAfterMs: null,
      onGivenUp: (why) => new Error(`gave up: ${why}`),
      onAmbiguous: (runs) => new Error(`choose: ${runs.map(({ invite }) => invite.run).join(" ")}`),
      signal: this.stop.signal,
      ...options,
    }).find();
  }

  #meet(run: string): Meeting {
    const type = (this.answers[run] ?? "proven") as "proven" | "other" | "silent" | "later" | "refused" | "impostor";
    if (type === "other" || type === "silent") return { type, why: `${run} is ${type}` };
    const prove = () => {
      this.greeted.push(run);
      if (type === "proven") return Promise.resolve({ type });
      return Promise.resolve({ type: type === "impostor" ? "silent" as const : type, why: `${run} is ${type}` });
    };
    return { type: "claims", prove, close: () => {} };
  }

  /** Resolves when the search says why it waits. */
  waiting(): Promise<string> {
    return this.#waits.promise;
  }
}

const runOf = (found: FoundRun): string => found.place === "chain" ? found.announcement.invite.run : found.place;

/** Lets time pass and completes everything that became due. */
async function pass(outside: Outside, ms: number): Promise<void> {
  await settled();
  outside.timers.advance(ms);
  await settled();
}

/** Whatever can go on without time has gone on: the embedded chain answers within a few turns. */
async function settled(): Promise<void> {
  for (let turns = 0; turns < 100; turns++) await Promise.resolve();
}

Deno.test("Search: a run is found when the owner announces it; strangers and newcomers are not believed", async () => {
  await withFindingWorld({}, async (world) => {
    await world.register(stranger);
    await world.publish(inviteOf("bait"), stranger);
    const outside = new Outside();
    outside.chains.set(place.network, world);
    const waits = outside.waiting();
    const found = outside.search();
    assertMatch(await waits, /no run is announced on subnet 9 .* by its owner or by a validator with a permit$/);
    await world.publish("something else altogether", ownerHotkey);
    await pass(outside, 2_000);
    await world.publish(inviteOf("real"), ownerHotkey);
    await pass(outside, 2_000);
    const { place: where, announcement, others } = await found as FoundRun & { place: "chain" };
    assertEquals([where, announcement.invite.run, announcement.by, others], ["chain", "real", "owner", 0]);
    assertEquals(outside.waited.length, 1, "each reason is said once");
    assertEquals(outside.opened.length, 1, "one connection for all looks");
  });
});

Deno.test("Search: another hotkey of the owner's coldkey counts as the owner's, and stake without a permit counts nothing", async () => {
  await withFindingWorld({}, async (world) => {
    await world.register(otherMiner, ownerColdkey);
    await world.register(validator);
    await world.publish(inviteOf("staked", undefined, validator), validator);
    const outside = new Outside();
    outside.chains.set(place.network, world);
    const waits = outside.waiting();
    const found = outside.search();
    await waits;
    await world.stake(validator, 1_000);
    await world.publish(inviteOf("owned", "ws://203.0.113.8:9009"), otherMiner);
    await pass(outside, 2_000);
    assertEquals(runOf(await found), "owned", "the owner comes before stake");
    const { runs } = await readAnnouncements(world.chain, { isPublic: true });
    assertEquals(runs.map(({ invite, by }) => `${invite.run} ${by}`), ["owned owner", "staked stake"]);
  });
});

Deno.test("Search: between several that only stake vouches for a person decides, with --run", async () => {
  await withFindingWorld({}, async (world) => {
    for (const [key, run, stake] of [[validator, "one", 500], [miner, "two", 900]] as const) {
      await world.register(key);
      await world.publish(inviteOf(run, undefined, key), key);
      await world.stake(key, stake);
    }
    const outside = new Outside();
    outside.chains.set(place.network, world);
    await assertRejects(() => outside.search(), Error, "choose: two one");
    assertEquals(runOf(await outside.search({ wanted: { run: "one", hub: null } })), "one");
    const waits = outside.waiting();
    const never = outside.search({ wanted: { run: "three", hub: null } });
    assertMatch(await waits, /run three is not announced on subnet 9 .*: two, one are/);
    outside.stop.abort(new Error("asked to stop"));
    await assertRejects(() => never, Error, "asked to stop");
  });
});

/** A world whose owner announces `first`, then `second`; `outside` reads it. */
async function withTwoRuns(body: (outside: Outside) => Promise<void>): Promise<void> {
  await withFindingWorld({}, async (world) => {
    await world.register(otherMiner, ownerColdkey);
    await world.publish(inviteOf("first"), ownerHotkey);
    await world.publish(inviteOf("second", "ws://203.0.113.8:9009"), otherMiner);
    const outside = new Outside();
    outside.chains.set(place.network, world);
    await body(outside);
  });
}

for (const answer of ["silent", "other", "impostor", "refused"]) {
  Deno.test(`Search: an announced run whose orchestrator is ${answer} keeps nobody from the next one`, async () => {
    await withTwoRuns(async (outside) => {
      outside.answers = { first: answer };
      assertEquals(runOf(await outside.search()), "second");
      assertEquals(outside.waited, []);
    });
  });
}

Deno.test("Search: the first run that proves itself is taken, and no other is sent a hello", async () => {
  await withTwoRuns(async (outside) => {
    assertEquals(runOf(await outside.search()), "first");
    assertEquals(outside.greeted, ["first"]);
  });
});

Deno.test("Search: when no run answers as itself all are tried in turns, and each and its reason is said once", async () => {
  await withTwoRuns(async (outside) => {
    outside.answers = { first: "other", second: "silent" };
    outside.isHubHere = true;
    const waits = outside.waiting();
    const found = outside.search();
    const why = await waits;
    assertMatch(
      why,
      /^2 runs announced on subnet 9 .*none can be joined yet: first at ws:\S+ \(first is other\), second at/,
    );
    assertMatch(why, /to wait for one of them only: --run first/);
    assertMatch(why, /an orchestrator answers on this machine, to join that one: --orchestrator HERE$/);
    for (let i = 0; i < 5; i++) await pass(outside, 2_000);
    assertEquals(outside.waited.length, 1);
    outside.answers = { first: "other" };
    await pass(outside, 2_000);
    assertEquals(runOf(await found), "second");
  });
});

Deno.test("Search: a run that says 'try again' is waited for before the next one, but not for ever", async () => {
  await withTwoRuns(async (outside) => {
    outside.answers = { first: "later" };
    const found = outside.search();
    for (let i = 0; i < 29; i++) await pass(outside, 2_000);
    assert(!outside.greeted.includes("second"));
    for (let i = 0; i < 2; i++) await pass(outside, 2_000);
    assertEquals(runOf(await found), "second");
  });
});

Deno.test("Search: a run that refuses this node for good is taken when no other lets it in, as the role says why", async () => {
  await withTwoRuns(async (outside) => {
    outside.answers = { first: "refused", second: "silent" };
    assertEquals(runOf(await outside.search()), "first");
  });
});

Deno.test("Search: between several that only stake vouches for, one that answers is taken without asking", async () => {
  await withFindingWorld({}, async (world) => {
    for (const [key, run] of [[validator, "one"], [miner, "two"]] as const) {
      await world.register(key);
      await world.publish(inviteOf(run, undefined, key), key);
      await world.stake(key, 500);
    }
    const outside = new Outside();
    outside.chains.set(place.network, world);
    outside.answers = { one: "silent" };
    assertEquals(runOf(await outside.search()), "two");
  });
});

Deno.test("Search: on a chain that everybody reads, an address of one machine or network is passed over, and said", async () => {
  await withFindingWorld({}, async (world) => {
    await world.publish(inviteOf("near", "ws://192.168.1.7:9009"), ownerHotkey);
    const outside = new Outside();
    outside.chains.set("finney", world);
    const waits = outside.waiting();
    const never = outside.search({ chain: { network: "finney", netuid } });
    assertMatch(await waits, /ignored: 5\w+: its address is not reachable from elsewhere: 192\.168\.1\.7/);
    outside.stop.abort(new Error("enough"));
    await assertRejects(() => never);
    await world.publish("iota://nonsense", ownerHotkey);
    const { runs, unusable } = await readAnnouncements(world.chain, { isPublic: true });
    assertEquals([runs, unusable.map(({ why }) => why)], [[], ["it is not an invite that this version can read"]]);
  });
});

Deno.test("Search: without a name it tries the chain on this machine, the orchestrator here, then finney", async () => {
  const [own, public_] = [new FindingWorld(), new FindingWorld()];
  try {
    const outside = new Outside();
    const waits = outside.waiting();
    const found = outside.search({ chain: null });
    assertMatch(
      await waits,
      /subnet 9 of finney cannot be read: Cannot reach finney; on this machine there is no chain \(port 9944\) and no/,
    );
    outside.chains.set("finney", public_);
    outside.isChainHere = true; // started last
    outside.chains.set("local", own);
    await own.publish(inviteOf("mine", "ws://127.0.0.1:9009"), ownerHotkey);
    await public_.publish(inviteOf("theirs"), ownerHotkey);
    await pass(outside, 2_000);
    assertEquals(runOf(await found), "mine");
    assertEquals(outside.opened, ["finney", "local"]);

    outside.isChainHere = false;
    assertEquals(runOf(await outside.search({ chain: null })), "theirs");
    outside.isHubHere = true;
    assertEquals(runOf(await outside.search({ chain: null })), "machine");
    const named = { run: "theirs", hub: null };
    assertEquals(runOf(await outside.search({ chain: null, wanted: named })), "theirs", "a name is looked up");
  } finally {
    await own.close();
    await public_.close();
  }
});

Deno.test("Search: with a limit it gives up at the first look in vain after it, saying why", async () => {
  const outside = new Outside();
  const ended = assertRejects(() => outside.search({ giveUpAfterMs: 5_000 }), Error, "gave up: subnet 9 of ws://chain");
  for (let i = 0; i < 4; i++) await pass(outside, 2_000);
  await ended;
  await assertRejects(() => new Outside().search({ giveUpAfterMs: 0 }), Error, "gave up");
});

Deno.test("Search: an endpoint that is lost is dialled again: the world's later each time, one's own within seconds", async () => {
  const attempts = async (network: string) => {
    const outside = new Outside();
    const waits = outside.waiting();
    const never = outside.search({ chain: { network, netuid } });
    await waits;
    for (let i = 0; i < 60; i++) await pass(outside, 2_000);
    assertEquals(outside.waited.length, 1);
    outside.stop.abort(new Error("enough"));
    await assertRejects(() => never, Error, "enough");
    return outside.opened.length;
  };
  const count = await attempts("finney");
  assert(count > 4 && count < 12, `${count} attempts in 2 minutes`);
  assert(await attempts("ws://chain.example") >= 30);
});
