/** The validator's machine and gradients: parts, segments, the answer before the claim, and its own verdict. */

import { assert, assertEquals, assertMatch } from "@std/assert";
import { blobHash, type BlobRef, nodeId, stageIndex, type TaskId } from "../../../core/ids.ts";
import type { RepeatGradient } from "../../../core/protocol/message.ts";
import type { ValidatorEffect, ValidatorEvent, ValidatorResult } from "../../../core/validator/event.ts";
import { openValidator, validator } from "../../../core/validator/machine.ts";
import { unsigned } from "../../../core/statements/statement.ts";
import { tinyConfig } from "../../support/tiny_model.ts";

const blob = (i: number): BlobRef => ({ hash: blobHash(String(i).padStart(64, "0")), bytes: 4 });
const part: RepeatGradient = {
  ...{ type: "repeatGradient", request: 5, round: 1, step: 3, miner: nodeId("miner-0"), stage: stageIndex(1) },
  ...{ task: "0.1.backward.0" as TaskId, direction: "backward", first: 0, isLast: true, source: { type: "initial" } },
};

function joined() {
  const state = openValidator({ adapter: "test" });
  const step = (event: ValidatorEvent): ValidatorEffect[] => {
    const effects = validator.step(state, event, 0);
    validator.assertInvariants(state);
    return effects;
  };
  step({ type: "connected", resumed: false });
  const config = tinyConfig();
  const hear = (message: Extract<ValidatorEvent, { type: "messageReceived" }>["message"], segments: BlobRef[] = []) =>
    step({ type: "messageReceived", message, segments });
  hear({ type: "welcome", config, layersOfStages: [1, 1, 1], isKept: false, shows: [] });
  const finish = (effects: readonly ValidatorEffect[], result: ValidatorResult) => {
    const asked = effects.find((effect) => effect.type === "perform");
    assert(asked?.type === "perform", "the device is asked");
    return step({ type: "workDone", job: asked.job, result });
  };
  return { state, step, hear, finish };
}

const sentBy = (effects: readonly ValidatorEffect[]) =>
  effects.flatMap((effect) => effect.type === "send" ? [effect.message] : []);

Deno.test("Validator: every part of a gradient is answered, the last one with its norm, and segments are let go", () => {
  const { hear, finish } = joined();
  const begun = hear({ ...part, isLast: false }, [1, 2, 3, 4].map(blob));
  const [work] = begun.flatMap((effect) => effect.type === "perform" ? [effect.work] : []);
  assert(work?.type === "gradient");
  assertEquals(work.tasks, [{ input: blob(1), second: blob(2) }, { input: blob(3), second: blob(4) }]);
  const answered = finish(begun, { type: "gradient", squareSum: null });
  assertEquals(sentBy(answered), [{ type: "gradientRepeated", request: 5, squareSum: null, signature: null }]);
  assertEquals(answered.flatMap((effect) => effect.type === "release" ? effect.refs : []).length, 4);
  const last = hear({ ...part, request: 6, first: 2 }, [5, 6].map(blob));
  assertEquals(sentBy(finish(last, { type: "gradient", squareSum: 2 })), [
    { type: "gradientRepeated", request: 6, squareSum: 2, signature: unsigned },
  ]);
});

Deno.test("Validator: a claim that its own number contradicts withholds the miner's pay in its book, once", () => {
  for (const [claimed, isFalse] of [[2.001, false], [4, true]] as const) {
    const { state, hear, finish } = joined();
    finish(hear(part, [1, 2].map(blob)), { type: "gradient", squareSum: 2 });
    const said = hear({ type: "gradientClaimed", request: 5, claimed, least: 0 });
    const [verdict] = said.flatMap((effect) => effect.type === "record" ? [effect.record] : []).slice(-1);
    assert(verdict?.type === "verdict");
    assertEquals([verdict.passed, verdict.gradient], [!isFalse, { claimed, found: 2, least: 0 }]);
    assertEquals(state.book.withheld.has(part.miner), isFalse);
    assertEquals(hear({ type: "gradientClaimed", request: 5, claimed: 9, least: 0 }), [], "it is over");
  }
});

Deno.test("Validator: a claim of another request, or of a session before this one, says nothing", () => {
  const { step, hear, finish } = joined();
  finish(hear(part, [1, 2].map(blob)), { type: "gradient", squareSum: 2 });
  assertEquals(hear({ type: "gradientClaimed", request: 4, claimed: 9, least: 0 }), []);
  step({ type: "connected", resumed: false });
  assertEquals(hear({ type: "gradientClaimed", request: 5, claimed: 9, least: 0 }), []);
});

Deno.test("Validator: a gradient without whole tasks, or without a finite norm, is no answer", () => {
  for (const segments of [[], [1], [1, 2, 3]]) {
    const { hear } = joined();
    const [answer] = sentBy(hear(part, segments.map(blob)));
    assert(answer?.type === "requestFailed" && answer.request === 5);
    assertMatch(answer.fault.detail, /has \d segments instead of two for each task$/);
  }
  const { hear, finish } = joined();
  const [answer] = sentBy(finish(hear(part, [1, 2].map(blob)), { type: "gradient", squareSum: Infinity }));
  assert(answer?.type === "requestFailed");
  assertEquals(answer.fault.code, "badNumbers");
});
