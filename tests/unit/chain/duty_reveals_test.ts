/** The weight duty and reveals: its own, the chain's, and what is stamped as an update without being a call. */

import { assert, assertEquals } from "@std/assert";
import type { DutyState } from "../../../chain/duty/duty.ts";
import { dutyHealth } from "../../../chain/duty/health.ts";
import { weightDuty } from "../../../chain/duty/machine.ts";
import { sealedCall } from "../../../chain/duty/sealed_call.ts";
import { makePulse, ownBeacon } from "../../../chain/timelock/pulse.ts";
import { decryptTimelocked, timelockRandomBytes } from "../../../chain/timelock/timelock.ts";
import { decodeWeightsPayload } from "../../../chain/timelock/weights_payload.ts";
import { landedIn, lookAt, sendsOf, situation, validator } from "../../support/chain/duty_situation.ts";
import { modelBeacon, type ModelCall, modelNetuid } from "../../support/chain/model_chain.ts";

const saidOf = (state: DutyState) => dutyHealth(state).sentences.join(" | ");

Deno.test("Duty: a salted commit is revealed in its epoch with the same row and salt", () => {
  const world = situation({ isCommitReveal: true, commitRevealVersion: 1 });
  const { chain, state } = world;
  const commit = sendsOf(lookAt(1_090, world))[0]!;
  chain.advance();
  assert(commit.type === "send" && commit.call.type === "commitWeights");
  assertEquals(chain.execute(validator, commit.call), null);
  const receipt = { status: "included", block: 1_091, extrinsicHash: "0x" } as const;
  weightDuty.step(state, { type: "answered", attempt: 1, receipt }, 0);
  assert(saidOf(state).includes("newest weights: committed at block 1091, revealed in epoch 41"));
  assertEquals(sendsOf(lookAt(1_098, world)), []);
  const reveal = sendsOf(lookAt(1_100, world))[0]!;
  chain.advance();
  assert(reveal.type === "send" && reveal.call.type === "revealWeights");
  assertEquals(chain.execute(validator, reveal.call), null);
  assertEquals(chain.rows.get(0), [{ uid: 1, value: 65_535 }, { uid: 2, value: 21_845 }]);
});

Deno.test("Duty: no reveal is sent where weights are not hidden any more", () => {
  const world = situation({ isCommitReveal: true, commitRevealVersion: 1 });
  const { chain, state } = world;
  assertEquals(sendsOf(lookAt(1_090, world)).length, 1);
  chain.advance();
  weightDuty.step(state, { type: "answered", attempt: 1, receipt: landedIn(1_091) }, 0);
  chain.change({ isCommitReveal: false });
  assertEquals(sendsOf(lookAt(1_100, world)), []);
});

/** A hidden row of the first window is in block 1,091, and its answer has come. */
function landTimelocked(world: ReturnType<typeof situation>): void {
  const commit = sendsOf(lookAt(1_090, world))[0]!;
  assert(commit.type === "sealAndSend");
  world.chain.advance();
  assertEquals(world.chain.execute(validator, commit), null);
  weightDuty.step(world.state, { type: "answered", attempt: 1, receipt: landedIn(1_091) }, 0);
}

Deno.test("Duty: a reveal that the chain stamps as an update is not a call, and uses up no window", () => {
  const world = situation({ isCommitReveal: true });
  const { chain } = world;
  landTimelocked(world);
  chain.change({ isCommitReveal: false });
  lookAt(1_110, world);
  assert(chain.neurons[0]!.lastUpdateBlock > 1_100, "the reveal is stamped");
  assertEquals(sendsOf(lookAt(1_190, world)).length, 1);
});

Deno.test("Duty: a reveal long after its epoch was expected is not a call either", () => {
  const world = situation({ isCommitReveal: true });
  const { chain, state } = world;
  landTimelocked(world);
  chain.change({ isCommitReveal: false });
  lookAt(1_095, world);
  state.passages.splice(0); // given up as missing, because another tempo had renumbered the epochs
  lookAt(1_110, world);
  assert(chain.neurons[0]!.lastUpdateBlock > 1_100, "the reveal is stamped");
  assertEquals(sendsOf(lookAt(1_190, world)).length, 1);
});

Deno.test("Duty: a call that has landed counts for its epoch, also when an older row is revealed after it", () => {
  const world = situation({ weightsRateLimitBlocks: 0 });
  const { chain, state } = world;
  const sent = sendsOf(lookAt(1_090, world))[0]!;
  assert(sent.type === "send");
  chain.advance();
  assertEquals(chain.execute(validator, sent.call), null);
  weightDuty.step(state, { type: "answered", attempt: 1, receipt: landedIn(1_091) }, 0);
  Object.assign(chain.neurons[0]!, { lastUpdateBlock: 1_094 });
  state.revealedBlock = 1_094; // the chain's own stamp
  assertEquals(sendsOf(lookAt(1_096, world)), []);
});

Deno.test("Duty: the reveal of an older row is not mistaken for the block of an unanswered call", () => {
  for (const openedBlock of [1_150, 1_191]) { // weights are hidden no more: before our call, after it
    const world = situation({ isCommitReveal: true, revealPeriodEpochs: 2 });
    const { chain, state } = world;
    landTimelocked(world);
    lookAt(1_149, world);
    if (openedBlock === 1_150) chain.change({ isCommitReveal: false });
    const sent = sendsOf(lookAt(1_190, world))[0]!;
    chain.advance();
    assertEquals(chain.execute(validator, sent.type === "send" ? sent.call as ModelCall : sent as ModelCall), null);
    chain.change({ isCommitReveal: false });
    weightDuty.step(state, { type: "answered", attempt: 2, receipt: { status: "unknown", why: "disconnected" } }, 0);
    lookAt(1_210, world);
    assert(chain.neurons[0]!.lastUpdateBlock > 1_200, "the reveal of the older row is stamped");
    assert(state.attempt === null && state.lastLandedBlock < 1_201, `landed at block ${state.lastLandedBlock}`);
    assertEquals(sendsOf(lookAt(1_290, world)).length, 1, `hidden until block ${openedBlock}`);
  }
});

Deno.test("Duty: a commit that storage does not have has not landed, whatever the chain stamps", () => {
  const world = situation({ isCommitReveal: true, revealPeriodEpochs: 2 });
  const { state } = world;
  assertEquals(sendsOf(lookAt(1_190, world)).length, 1); // and it is lost
  weightDuty.step(state, { type: "answered", attempt: 1, receipt: { status: "unknown", why: "disconnected" } }, 0);
  while (world.chain.block < 1_204) world.chain.advance();
  Object.assign(world.chain.neurons[0]!, { lastUpdateBlock: 1_203 });
  lookAt(1_204, world);
  assertEquals([state.attempt, state.lastLandedBlock], [null, 0]);
});

Deno.test("Duty: timelocked weights open with the pulse of their round, and not being revealed is an alarm", () => {
  const { beacon, secretKey } = ownBeacon({ seed: new Uint8Array(48).fill(5), ...modelBeacon });
  const world = situation({ isCommitReveal: true });
  const { chain, state } = world;
  const effect = sendsOf(lookAt(1_090, world))[0]!;
  assert(effect.type === "sealAndSend");
  // From block 1,090 to the epoch at 1,100 and three blocks on: 13 blocks of 12 s, four rounds each.
  assertEquals(BigInt(effect.revealRound), BigInt(Math.floor(chain.timeMs / 3_000)) + 52n);
  const publicKey = new Uint8Array(32).fill(1), random = new Uint8Array(timelockRandomBytes).fill(3);
  const call = sealedCall(effect, { netuid: modelNetuid, mechanism: 0, publicKey, beacon, random });
  assert(call.type === "commitTimelockedWeights" && call.revealRound === BigInt(effect.revealRound));
  const opened = decryptTimelocked({
    ciphertext: call.commit,
    signature: makePulse({ secretKey, round: call.revealRound }),
  });
  assert(opened.ok);
  const payload = { hotkey: publicKey, uids: [1, 2], values: [65_535, 21_845], versionKey: 3n };
  assertEquals(decodeWeightsPayload(opened.value), { ok: true, value: payload });

  const receipt = { status: "included", block: 1_091, extrinsicHash: "0x" } as const;
  weightDuty.step(state, { type: "answered", attempt: 1, receipt }, 0);
  chain.neurons[0] = { ...chain.neurons[0]!, lastUpdateBlock: 1_091 }; // the commit counts, but its row never comes
  lookAt(1_150, world);
  assertEquals(dutyHealth(state).level, "good");
  lookAt(1_201, world);
  assertEquals(dutyHealth(state).level, "alarm");
  assert(
    saidOf(state).includes("weights of block 1091 did not take effect: the chain has no weights from this hotkey"),
    saidOf(state),
  );
});
