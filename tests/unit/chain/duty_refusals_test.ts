/** When the weight duty may not send, and when it may again. */

import { assert, assertEquals } from "@std/assert";
import type { Refusal } from "../../../chain/chain.ts";
import { weightDuty } from "../../../chain/duty/machine.ts";
import { headAt, lead, lookAt, sendsOf, situation, validator } from "../../support/chain/duty_situation.ts";

Deno.test("Duty: what stood in the way is gone within the window, and the next block has the weights", () => {
  for (let liftedBlock = 1_100 - lead; liftedBlock < 1_099; liftedBlock++) {
    const world = situation({ weightsVersionKey: 4n });
    let looks = 0;
    for (let block = 1_001; block < liftedBlock; block++) {
      assertEquals(sendsOf(headAt(block, world)), []);
      if (block < 1_100 - lead && world.state.viewBlock === block) looks += 1;
    }
    world.chain.advance();
    world.chain.change({ weightsVersionKey: 3n });
    assertEquals(sendsOf(headAt(liftedBlock, world)).length, 1, `lifted at block ${liftedBlock}`);
    assert(looks <= 8, `${looks} looks before the window`);
  }
});

Deno.test("Duty: the owner of a subnet needs no permit", () => {
  const world = situation({ ownerHotkey: validator });
  world.chain.neurons[0] = { ...world.chain.neurons[0]!, hasPermit: false };
  assertEquals(sendsOf(lookAt(1_098, world)).length, 1);
});

Deno.test("Duty: a refusal for good holds until the next epoch, one for now until the next block", () => {
  for (const [retry, sends] of [["nextBlock", 1], ["afterRateLimit", 1], ["never", 0], ["afterUpgrade", 0]] as const) {
    const world = situation();
    lookAt(1_090, world);
    const refusal: Refusal = { name: "X", sentence: "no", action: "read on", retry };
    weightDuty.step(world.state, { type: "answered", attempt: 1, receipt: { status: "refused", refusal } }, 0);
    assertEquals(sendsOf(lookAt(1_091, world)).length, sends, retry);
    if (sends === 0) assertEquals(sendsOf(lookAt(1_198, world)).length, 1, "the next window");
  }
});

Deno.test("Duty: a refusal whose cause was gone before a look could see it holds for a few blocks, not until the epoch", () => {
  const world = situation();
  lookAt(1_090, world);
  const refusal: Refusal = {
    name: "IncorrectWeightVersionKey",
    sentence: "no",
    action: "update",
    retry: "afterUpgrade",
  };
  weightDuty.step(world.state, { type: "answered", attempt: 1, receipt: { status: "refused", refusal } }, 0);
  for (const block of [1_091, 1_092]) assertEquals(sendsOf(headAt(block, world)), [], "the endpoint may lag");
  assertEquals(sendsOf(headAt(1_093, world)).length, 1);
});

Deno.test("Duty: a refusal whose cause a look has seen ends with its cause, not with the epoch", () => {
  const world = situation();
  lookAt(1_090, world);
  const refusal: Refusal = { name: "IncorrectWeightVersionKey", sentence: "no", action: "update", retry: "never" };
  weightDuty.step(world.state, { type: "answered", attempt: 1, receipt: { status: "refused", refusal } }, 0);
  world.chain.change({ weightsVersionKey: 4n });
  assertEquals(sendsOf(headAt(1_091, world)), []);
  world.chain.change({ weightsVersionKey: 3n });
  assertEquals(sendsOf(headAt(1_092, world)).length, 1);
});
