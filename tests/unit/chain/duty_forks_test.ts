/** The weight duty on a chain whose newest blocks a fork can replace. */

import { assert, assertEquals } from "@std/assert";
import type { Neuron } from "../../../chain/chain.ts";
import type { ChainCall } from "../../../chain/call.ts";
import type { DutyEffect, DutyState } from "../../../chain/duty/duty.ts";
import { dutyHealth } from "../../../chain/duty/health.ts";
import { isSettled, weightDuty } from "../../../chain/duty/machine.ts";
import { dutyLine } from "../../../cli/chain/duty/validator_chain.ts";
import { landedIn, lookAt, sendsOf, situation, validator } from "../../support/chain/duty_situation.ts";
import type { ModelChain } from "../../support/chain/model_chain.ts";

interface World {
  readonly chain: ModelChain;
  readonly state: DutyState;
}

/** Sends in block 1,090 and lands in 1,091; blocks are final two blocks later. Returns what undoes the landing. */
function landed(changes: Parameters<typeof situation>[0] = {}): { world: World; call: ChainCall; fork: () => void } {
  const world = situation(changes);
  const { chain } = world;
  chain.finalityLagBlocks = 2;
  const call = callOf(sendsOf(lookAt(1_090, world))[0]);
  const before: { own: Neuron; commits: typeof chain.commits; rows: typeof chain.rows } = {
    own: chain.neurons[0]!,
    commits: [...chain.commits],
    rows: new Map(chain.rows),
  };
  land(world, call);
  const fork = () => {
    chain.neurons[0] = before.own;
    chain.commits = before.commits;
    chain.rows = before.rows;
  };
  return { world, call, fork };

  function land({ chain, state }: World, call: ChainCall): void {
    chain.advance();
    assertEquals(chain.execute(validator, call), null);
    weightDuty.step(state, { type: "answered", attempt: state.attempts, receipt: landedIn(chain.block) }, 0);
  }
}

function callOf(effect: DutyEffect | undefined): ChainCall {
  assert(effect?.type === "send");
  return effect.call;
}

const recordsOf = (effects: readonly DutyEffect[]) =>
  effects.flatMap((effect) => effect.type === "record" ? [effect.record] : []);

Deno.test("Forks: a row is checked, and the scores are done, only when the call's block is final", () => {
  const { world } = landed();
  const { state } = world;
  for (const block of [1_091, 1_092]) {
    assertEquals(recordsOf(lookAt(block, world)), [], `block ${block}`);
    assertEquals([isSettled(state), state.checked], [false, null]);
    assertEquals(state.lookAtBlock, block + 1); // finality is awaited block by block
  }
  assert(dutyHealth(state).sentences.some((text) => text.includes("set at block 1091, which a fork can still undo")));
  assertEquals(recordsOf(lookAt(1_093, world)), [{ type: "rowChecked", landedBlock: 1_091 }]);
  assert(isSettled(state));
});

Deno.test("Forks: weights that a fork of two blocks removes are not a success, and are sent again", () => {
  const { world, fork } = landed();
  const { state } = world;
  lookAt(1_092, world);
  fork();
  for (let block = 1_093; block <= 1_097; block++) {
    const effects = lookAt(block, world);
    assertEquals([recordsOf(effects), sendsOf(effects), isSettled(state)], [[], [], false], `block ${block}`);
  }
  assertEquals([state.checked, state.alarm], [null, null]);
  const effects = lookAt(1_098, world);
  const [lost] = recordsOf(effects);
  assertEquals(lost, { type: "lost", purpose: "set", undoneBlock: 1_091 });
  assertEquals(
    dutyLine(lost!),
    "weights: a fork of the chain removed block 1091 with the weights; they are sent again",
  );
  assertEquals([sendsOf(effects).length, isSettled(state)], [1, false]);
});

Deno.test("Forks: a salted commit that a fork moves to another block is revealed from there", () => {
  const { world, call, fork } = landed({ isCommitReveal: true, commitRevealVersion: 1 });
  const { chain, state } = world;
  fork();
  chain.advance();
  assertEquals(chain.execute(validator, call), null); // back in the pool, it lands one block later
  lookAt(1_092, world);
  assertEquals([state.lastLandedBlock, state.passages[0]?.landedBlock], [1_092, 1_092]);
  assertEquals(callOf(sendsOf(lookAt(1_101, world))[0]).type, "revealWeights");
});

Deno.test("Forks: a reveal that a fork removes is sent again", () => {
  const { world } = landed({ isCommitReveal: true, commitRevealVersion: 1 });
  const { chain, state } = world;
  assertEquals(sendsOf(lookAt(1_102, world)).length, 1);
  weightDuty.step(state, { type: "answered", attempt: state.attempts, receipt: landedIn(1_103) }, 0); // and never executed
  for (let block = 1_103; block <= 1_109; block++) assertEquals(sendsOf(lookAt(block, world)), [], `block ${block}`);
  const again = lookAt(1_110, world);
  assertEquals(recordsOf(again)[0], { type: "lost", purpose: "reveal", undoneBlock: 1_103 });
  const reveal = callOf(sendsOf(again)[0]);
  chain.advance();
  assertEquals(chain.execute(validator, reveal), null);
});
