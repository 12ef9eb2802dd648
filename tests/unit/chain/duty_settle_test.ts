/** Calls without an answer whose trace in storage the chain's reveal of an older commit may have overwritten: the blocks settle them. */

import { assert, assertEquals } from "@std/assert";
import type { ChainView, DutyEffect } from "../../../chain/duty/duty.ts";
import { weightDuty } from "../../../chain/duty/machine.ts";
import { modelNetuid } from "../../support/chain/model_chain.ts";
import { headAt, landedIn, lookAt, sendsOf, situation, validator } from "../../support/chain/duty_situation.ts";

type World = ReturnType<typeof situation>;

/** A timelocked row landed in block 1,091; weights are hidden no more, and a plain call sent at block 1,198 got no answer. */
function unansweredBeforeReveal(): { world: World; call: Extract<DutyEffect, { type: "send" }> } {
  const world = situation({ isCommitReveal: true, revealPeriodEpochs: 2, weightsRateLimitBlocks: 0 });
  const { chain, state } = world;
  const commit = sendsOf(lookAt(1_090, world))[0]!;
  assert(commit.type === "sealAndSend");
  chain.advance();
  assertEquals(chain.execute(validator, commit), null);
  weightDuty.step(state, { type: "answered", attempt: 1, receipt: landedIn(1_091) }, 0);
  chain.change({ isCommitReveal: false });
  const call = sendsOf(lookAt(1_198, world))[0]!;
  assert(call.type === "send");
  weightDuty.step(state, { type: "answered", attempt: 2, receipt: { status: "unknown", why: "no answer" } }, 0);
  return { world, call };
}

Deno.test("Settling: a lost call is not taken for landed because the chain stamps a reveal, and the window is used", () => {
  const { world } = unansweredBeforeReveal();
  const { chain, state } = world;
  for (let block = 1_199; block < 1_230; block++) assertEquals(sendsOf(lookAt(block, world)), [], `block ${block}`);
  assert(chain.neurons[0]!.lastUpdateBlock > 1_199, "the reveal is stamped");
  assertEquals([state.attempt, state.lastLandedBlock], [null, 1_091]);
  assertEquals(sendsOf(lookAt(1_290, world)).length, 1);
});

Deno.test("Settling: a call hidden by the chain's reveal is found in its block", () => {
  const { world, call } = unansweredBeforeReveal();
  const { chain, state } = world;
  chain.advance();
  assertEquals(chain.execute(validator, call.call), null);
  lookAt(1_210, world); // not read while the call was visible in storage
  assert(chain.neurons[0]!.lastUpdateBlock > 1_200, "the reveal is stamped");
  assertEquals([state.attempt, state.lastLandedBlock], [null, 1_199]);
});

Deno.test("Settling: blocks are asked for where storage is not enough, each once", () => {
  const { world } = unansweredBeforeReveal();
  const { chain, state } = world;
  const asked: unknown[] = [];
  for (let block = 1_199; block <= 1_210; block++) {
    while (chain.block < block) chain.advance();
    state.lookAtBlock = 0;
    let effects = weightDuty.step(state, { type: "headSeen", head: { block, seenMs: 0 } }, 0);
    for (let [read] = effects; read?.type === "read"; [read] = effects) {
      if (read.blocks !== null) asked.push([read.blocks.afterBlock, read.blocks.toBlock]);
      effects = weightDuty.step(state, { type: "viewRead", view: chain.view(validator, read.blocks) }, 0);
    }
  }
  const stampBlock = chain.neurons[0]!.lastUpdateBlock;
  assertEquals(asked, [[1_198, stampBlock]]);
});

Deno.test("Settling: where the blocks cannot be read a call may have landed, and no second one is sent in its epoch", () => {
  const { world } = unansweredBeforeReveal();
  const { chain, state } = world;
  while (chain.neurons[0]!.lastUpdateBlock < 1_200) chain.advance();
  state.lookAtBlock = 0;
  const [first] = weightDuty.step(state, { type: "headSeen", head: { block: chain.block, seenMs: 0 } }, 0);
  assert(first?.type === "read");
  const [second] = weightDuty.step(state, { type: "viewRead", view: chain.view(validator, first.blocks) }, 0);
  assert(second?.type === "read" && second.blocks !== null);
  const view: ChainView = {
    ...chain.view(validator),
    calls: { range: second.blocks, landedBlocks: null },
  };
  assertEquals(sendsOf(weightDuty.step(state, { type: "viewRead", view }, 0)), []);
  assertEquals([state.attempt, state.lastLandedBlock], [null, chain.block]);
});

Deno.test("Settling: a legacy tempo that comes and goes between two looks makes no epoch, so nothing is sent twice", () => {
  const world = situation({}, "legacy");
  const { chain, state } = world;
  let sent = 0;
  const upTo = (block: number) => {
    while (chain.block < block) {
      for (const effect of sendsOf(headAt(chain.block + 1, world))) {
        sent += 1;
        const landedBlock = chain.block + 1;
        chain.advance();
        assert(effect.type === "send" && chain.execute(validator, effect.call) === null);
        weightDuty.step(
          state,
          { type: "answered", attempt: state.attempts, receipt: landedIn(landedBlock) },
          0,
        );
      }
    }
  };
  const period = 101, epochBlock = chain.block + period - ((chain.block + modelNetuid + 2) % period);
  upTo(epochBlock - 2);
  assertEquals(sent, 1);
  chain.change({ tempoBlocks: 5_000 }); // the epoch's block passes, and no look sees why it runs none
  while (chain.block < epochBlock) chain.advance();
  chain.change({ tempoBlocks: 100 });
  assert(chain.epochsRun === 0);
  upTo(epochBlock + 60);
  upTo(epochBlock + period - 1);
  assertEquals([chain.epochsRun, sent], [0, 1]);
});

Deno.test("Settling: a reveal that is refused is tried again, but the next row does not wait for it", () => {
  const world = situation({ isCommitReveal: true, commitRevealVersion: 1, revealPeriodEpochs: 1 });
  const { chain, state } = world;
  const commit = sendsOf(lookAt(1_090, world))[0]!;
  chain.advance();
  assert(commit.type === "send" && chain.execute(validator, commit.call) === null);
  weightDuty.step(state, { type: "answered", attempt: 1, receipt: landedIn(1_091) }, 0);
  const sent: string[] = [];
  for (let block = 1_100; block < 1_200; block++) {
    for (const effect of sendsOf(lookAt(block, world))) {
      assert(effect.type === "send");
      sent.push(effect.call.type);
      const isReveal = effect.call.type === "revealWeights";
      const refusal = { name: "RevealTooEarly", sentence: "", action: "", retry: "nextBlock" } as const;
      const receipt = isReveal ? { status: "refused", refusal } as const : landedIn(block + 1);
      weightDuty.step(state, { type: "answered", attempt: state.attempts, receipt }, 0);
    }
  }
  const reveals = sent.filter((type) => type === "revealWeights").length;
  assert(reveals > 10 && reveals < 40, `${reveals} attempts to reveal`);
  assert(sent.includes("commitWeights"), "the window is used");
});

Deno.test("Settling: a commit that the chain has forgotten is not revealed, and does not hold up the next row", () => {
  const world = situation({ isCommitReveal: true, commitRevealVersion: 1 });
  const { chain, state } = world;
  const commit = sendsOf(lookAt(1_090, world))[0]!;
  chain.advance();
  assert(commit.type === "send" && chain.execute(validator, commit.call) === null);
  weightDuty.step(state, { type: "answered", attempt: 1, receipt: landedIn(1_091) }, 0);
  chain.commits = []; // as after a change of tempo, which moves the epochs' numbers
  assertEquals(sendsOf(lookAt(1_100, world)), []);
  const [next] = sendsOf(lookAt(1_190, world));
  assert(next?.type === "send" && next.call.type === "commitWeights", "the window is used for a new commit");
});
