/** A node with a typed orchestrator on its own chain: registered before it dials, and never kept away by the chain. */

import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import { type Chain, ChainError } from "../../../chain/chain.ts";
import { aliceAddress } from "../../../chain/local/block/genesis.ts";
import { awaitsPermit, enrolOnDevelopmentChain } from "../../../cli/chain/duty/development_chain.ts";
import { enrolFirst, type EnrolFirstOptions } from "../../../cli/node/find/enrol_first.ts";
import { keyOf, netuid } from "../../conformance/chain_world.ts";
import { type FindingWorld, withFindingWorld } from "../../support/chain/finding_world.ts";
import { idle } from "../../support/idle.ts";
import { ManualTimers } from "../../support/net/manual_timers.ts";

const alices = { ownerColdkey: aliceAddress, ownerHotkey: aliceAddress };

/** A node that was given this chain. */
class Node {
  readonly timers = new ManualTimers();
  readonly said: string[] = [];
  readonly stop = new AbortController();
  isAdmitted = false;
  isOver = false;

  constructor(readonly world: FindingWorld, readonly role: "miner" | "validator") {}

  enrol(change: Partial<EnrolFirstOptions> = {}): Promise<void> {
    const outside = {
      openChain: () => Promise.resolve(this.world.open() as Chain),
      isPublic: (network: string) => network === "finney",
      timers: this.timers,
    };
    return enrolFirst(outside, {
      chain: { network: "ws://chain.example", netuid },
      prepare: (chain) =>
        enrolOnDevelopmentChain(chain, {
          ...{ hotkey: keyOf(40).address, role: this.role, isPublic: false, say: () => {} },
        }),
      isAdmitted: () => Promise.resolve(this.isAdmitted),
      onWaiting: (why) => this.said.push(why),
      onUnread: (why) => this.said.push(`unread: ${why}`),
      giveUpAfterMs: null,
      onGivenUp: (why) => new Error(`gave up: ${why}`),
      signal: this.stop.signal,
      ...change,
    }).finally(() => this.isOver = true);
  }

  async pass(ms: number): Promise<void> {
    await idle();
    this.timers.advance(ms);
    await idle();
  }
}

Deno.test("Typed orchestrator: a fresh miner is registered on its own chain before it dials", async () => {
  await withFindingWorld(alices, async (world) => {
    await new Node(world, "miner").enrol();
    assertEquals(world.sent, ["transfer", "burnedRegister"]);
  });
});

Deno.test("Typed orchestrator: a fresh validator waits for its permit, unless the orchestrator admits it without", async () => {
  await withFindingWorld(alices, async (world) => {
    const waiting = new Node(world, "validator");
    const enrolled = waiting.enrol();
    for (let i = 0; i < 3; i++) await waiting.pass(2_000);
    assertEquals([waiting.said, waiting.isOver], [[awaitsPermit], false], "said once");
    for (let i = 0; i <= 10; i++) world.block();
    await waiting.pass(2_000);
    await enrolled;
  });
  await withFindingWorld(alices, async (world) => {
    const admitted = new Node(world, "validator");
    admitted.isAdmitted = true;
    await admitted.enrol();
    assertEquals(world.sent.at(-1), "addStake");
  });
});

Deno.test("Typed orchestrator: a chain that cannot be read, or that everyone shares, keeps no node waiting", async () => {
  await withFindingWorld(alices, async (world) => {
    const node = new Node(world, "miner");
    await node.enrol({ chain: { network: "finney", netuid } });
    assertEquals([node.said, world.sent], [[], []]);
    await node.enrol({ prepare: () => Promise.reject(new ChainError("timeout", "no answer")) });
    assertEquals(node.said, ["unread: no answer"]);
  });
});

Deno.test("Typed orchestrator: waiting ends when the user stops it or its time is over", async () => {
  await withFindingWorld(alices, async (world) => {
    const stopped = new Node(world, "validator");
    const enrolled = stopped.enrol();
    await idle();
    stopped.stop.abort(new Error("asked to stop"));
    await assertRejects(() => enrolled, Error, "asked to stop");
    await idle(); // it closes its chain
    const limited = new Node(world, "validator");
    const error = await assertRejects(() => limited.enrol({ giveUpAfterMs: 0 }), Error);
    assertMatch(error.message, /^gave up: waiting for this validator's permit/);
  });
});
