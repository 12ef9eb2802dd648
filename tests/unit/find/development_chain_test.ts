/** Enrolment on a chain whose subnet //Alice owns: who pays, by which coldkey, and that nothing is done elsewhere. */

import { assert, assertEquals, assertMatch } from "@std/assert";
import { aliceAddress } from "../../../chain/local/block/genesis.ts";
import {
  awaitsPermit,
  developmentColdkey,
  type Enrolment,
  enrolOnDevelopmentChain,
} from "../../../cli/chain/duty/development_chain.ts";
import { coldkey, keyOf, tokens } from "../../conformance/chain_world.ts";
import { type FindingWorld, withFindingWorld } from "../../support/chain/finding_world.ts";

const alices = { ownerColdkey: aliceAddress, ownerHotkey: aliceAddress };

const of = (seed: number, role: Enrolment["role"] = "miner", said: string[] = []): Enrolment => ({
  ...{ hotkey: keyOf(seed).address, role, isPublic: false, say: (text: string) => said.push(text) },
});

async function coldkeyOf(world: FindingWorld, seed: number): Promise<string | undefined> {
  const { neurons } = await world.chain.metagraph();
  return neurons.find(({ hotkey }) => hotkey === keyOf(seed).address)?.coldkey;
}

Deno.test("Development chain: a node is registered once, by a coldkey of its own that //Alice funds", async () => {
  await withFindingWorld(alices, async (world) => {
    const said: string[] = [];
    assertEquals(await enrolOnDevelopmentChain(world.chain, of(40, "miner", said)), null);
    assertEquals(await enrolOnDevelopmentChain(world.chain, of(40, "miner", said)), null);
    assertEquals(world.sent, ["transfer", "burnedRegister"]);
    const { address } = developmentColdkey(keyOf(40).address);
    assertEquals(await coldkeyOf(world, 40), address);
    assertEquals(said.length, 1);
    assertMatch(said[0]!, /by a coldkey of its own, \/\/Alice\/\/5\w+, with tokens of \/\/Alice/);
    assert(await world.chain.balanceOf(address) >= tokens(1), "it can pay for later calls");
  });
});

Deno.test("Development chain: a validator is staked for once, by its own coldkey, and waits for its permit", async () => {
  await withFindingWorld(alices, async (world) => {
    assertEquals(await enrolOnDevelopmentChain(world.chain, of(41, "validator")), awaitsPermit);
    assertEquals(await enrolOnDevelopmentChain(world.chain, of(41, "validator")), awaitsPermit);
    for (let i = 0; i <= 10; i++) world.block();
    assertEquals(await enrolOnDevelopmentChain(world.chain, of(41, "validator")), null);
    assertEquals(world.sent, ["transfer", "burnedRegister", "addStake"]);
  });
});

Deno.test("Development chain: a validator that a person registered is told to add its stake", async () => {
  await withFindingWorld(alices, async (world) => {
    await world.register(keyOf(43));
    const missing = await enrolOnDevelopmentChain(world.chain, of(43, "validator"));
    assertMatch(String(missing), /its coldkey 5\w+ adds: `iota chain stake --amount 1000`$/);
  });
});

Deno.test("Development chain: an orchestrator is the owner's, so that nodes trust its announcement", async () => {
  await withFindingWorld(alices, async (world) => {
    assertEquals(await enrolOnDevelopmentChain(world.chain, of(44, "orchestrator")), null);
    assertEquals([world.sent, await coldkeyOf(world, 44)], [["burnedRegister"], aliceAddress]);
  });
});

Deno.test("Development chain: a price that rises while the coldkey is funded is paid at the next attempt", async () => {
  await withFindingWorld({ ...alices, hyperparameters: { firstBurnRao: tokens(1) } }, async (world) => {
    const { send } = world.chain;
    const elsewhere = world.open();
    let others = 0;
    world.chain.send = async (call, signer) => {
      for (; call.type === "burnedRegister" && others < 12; others++) { // 1.26 ** 12 is above 9
        await elsewhere.send({ ...call, hotkey: keyOf(60 + others).address }, coldkey);
      }
      return await send(call, signer);
    };
    assertEquals(await enrolOnDevelopmentChain(world.chain, of(45)), null);
    assertEquals(await coldkeyOf(world, 45), developmentColdkey(keyOf(45).address).address);
  });
});

Deno.test("Development chain: nothing is done on a public chain, or where another coldkey owns the subnet", async () => {
  await withFindingWorld(alices, async (world) => {
    assertEquals(await enrolOnDevelopmentChain(world.chain, { ...of(42), isPublic: true }), null);
    assertEquals(world.sent, []);
  });
  await withFindingWorld({}, async (world) => {
    assertEquals(await enrolOnDevelopmentChain(world.chain, of(40, "validator")), null);
    assertEquals(world.sent, []);
  });
});
