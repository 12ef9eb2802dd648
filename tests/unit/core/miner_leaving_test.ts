/** A miner that is asked to stop first finishes its pending work: no orchestrator leads it here. */

import { assertEquals } from "@std/assert";
import { blobHash, type BlobRef, microbatchId, stageIndex, taskId } from "../../../core/ids.ts";
import type { MinerEffect, MinerResult } from "../../../core/miner/event.ts";
import { miner } from "../../../core/miner/machine.ts";
import { openMiner } from "../../../core/miner/state.ts";
import type { HubMessage } from "../../../core/protocol/message.ts";
import { tinyConfig } from "../../support/tiny_model.ts";

const ref = (letter: string): BlobRef => ({ hash: blobHash(letter.repeat(64)), bytes: 64 });
const stage = stageIndex(1);

/** A miner of the middle stage that has its parameters. */
function loaded() {
  const state = openMiner({ adapter: "none", previousStage: null });
  let nowMs = 1000;
  const take = (event: Parameters<typeof miner.step>[1]): MinerEffect[] => miner.step(state, event, nowMs);
  const hear = (message: HubMessage, segments: BlobRef[] = []) => take({ type: "messageReceived", message, segments });
  const finish = (effects: MinerEffect[], result: MinerResult) => {
    const work = effects.find((effect) => effect.type === "perform");
    return work === undefined ? [] : take({ type: "workDone", job: work.job, result });
  };
  take({ type: "connected", resumed: false });
  hear({ type: "welcome", config: tinyConfig(), layersOfStages: [1, 1, 1], isKept: false, shows: [] });
  const source = { type: "initial" } as const;
  finish(hear({ type: "assign", assignment: 1, stage, round: 0, source, peers: [] }), {
    ...{ type: "loadStage", parameters: ref("a"), localSteps: 0 },
  });
  const forward = (step: number, index: number) =>
    hear({
      ...{ type: "runTask", microbatch: microbatchId(index), stage, direction: "forward", step },
      task: taskId({ microbatch: microbatchId(index), stage, direction: "forward", attempt: 0 }),
    }, [ref("b")]);
  const deliver = (step: number, index: number) =>
    finish(forward(step, index), { type: "runTask", output: ref("c"), losses: null, computeMs: 1 });
  const header = (step: number, shows = false) =>
    hear({ type: "applyStep", step, tasks: 0, learningRate: 0, clipFactor: 0, shows });
  /** The orchestrator lets it go, unless `isNeeded` says otherwise. */
  const stop = ({ atOnce = false, isNeeded = false } = {}) => {
    const asking = take({ type: "stopRequested", reason: "interrupted", atOnce });
    if (!asking.some((effect) => effect.type === "send" && effect.message.type === "askToLeave")) return asking;
    return hear({ type: "leaveAnswered", isNeeded });
  };
  const wait = (ms: number) => {
    nowMs += ms;
    return take({ type: "tick" });
  };
  return { take, hear, finish, forward, deliver, header, stop, wait };
}

const hasLeft = (effects: readonly MinerEffect[]): boolean =>
  effects.some((effect) => effect.type === "send" && effect.message.type === "leaving") &&
  effects.some(({ type }) => type === "finish");

const handedIn = (effects: readonly MinerEffect[]): boolean | null => {
  for (const effect of effects) {
    if (effect.type === "record" && effect.record.type === "handedIn") return effect.record.isMerged;
  }
  return null;
};

Deno.test("Miner leaving: at once where nothing is pending, or where it has no link, or has lost its device", () => {
  assertEquals(hasLeft(loaded().stop()), true);
  const lost = loaded();
  lost.deliver(0, 0);
  assertEquals(hasLeft(lost.stop({ atOnce: true })), true);
  const offline = loaded();
  offline.deliver(0, 0);
  offline.take({ type: "disconnected" });
  assertEquals(hasLeft(offline.stop()), true);
});

Deno.test("Miner leaving: after the step that others use its results of, and without a task of the next", () => {
  const { deliver, forward, header, finish, stop } = loaded();
  deliver(0, 0);
  assertEquals(stop(), []);
  assertEquals(hasLeft(deliver(0, 1)), false);
  const applying = header(0);
  assertEquals(hasLeft(applying), false);
  assertEquals(hasLeft(finish(applying, { type: "applyStep" })), true);

  const unheaded = loaded(); // none of its forwards had a gradient of its own
  unheaded.deliver(0, 0);
  unheaded.stop();
  const late = unheaded.forward(1, 9);
  assertEquals([late.some(({ type }) => type === "perform"), hasLeft(late)], [false, true]);
  assertEquals(forward(1, 9), [{ type: "release", refs: [ref("b")] }], "it has stopped");
});

Deno.test("Miner leaving: after it has opened what it must open, and after the merge that has begun", () => {
  const { hear, deliver, header, finish, stop } = loaded();
  deliver(0, 0);
  stop();
  const copying = header(0, true);
  hear({ type: "startMerge", round: 0, contributes: true, slices: [] });
  const copied = finish(copying, { type: "copyState" });
  const applying = copied.filter((effect) => effect.type === "perform" && effect.work.type === "zeroGradients");
  const forming = finish(applying, { type: "applyStep" });
  const shown = finish(copied, { type: "uploadState", change: ref("d") });
  assertEquals([hasLeft(forming), hasLeft(shown)], [false, false]);
  finish(forming, { type: "formPayload", slices: [], hash: "e".repeat(64) });
  const merging = hear({ type: "applyMerge", round: 0, slices: [] });
  const merged = finish(merging, { type: "applyMerge", parameters: ref("f"), momentum: null });
  assertEquals(hasLeft(merged), true);
});

Deno.test("Miner leaving: it waits for a while, and when its link is lost no longer", () => {
  const silent = loaded();
  silent.deliver(0, 0);
  silent.stop();
  assertEquals(hasLeft(silent.wait(14_999)), false);
  assertEquals(hasLeft(silent.wait(1)), true);
  const cut = loaded();
  cut.deliver(0, 0);
  cut.stop();
  assertEquals(hasLeft(cut.take({ type: "disconnected" })), true);
});

Deno.test("Miner leaving: it asks once and stays until the answer, for no longer than it waits for anything", () => {
  const { take, wait } = loaded();
  const asking = take({ type: "stopRequested", reason: "interrupted" });
  assertEquals(asking, [{ type: "send", message: { type: "askToLeave" }, attachments: [] }]);
  assertEquals(take({ type: "stopRequested", reason: "interrupted" }), []);
  assertEquals([hasLeft(wait(14_999)), hasLeft(wait(1))], [false, true]);
});

Deno.test("Miner leaving: while the orchestrator needs it, it takes tasks of the open step and leaves when its round is merged", () => {
  const { hear, deliver, forward, finish, stop } = loaded();
  deliver(0, 0);
  const [handingIn] = stop({ isNeeded: true });
  assertEquals(handingIn, { type: "record", record: { type: "handingIn", round: 0, mostMs: 45_000 } });
  const task = forward(1, 9);
  assertEquals(task.some(({ type }) => type === "perform"), true);
  finish(task, { type: "runTask", output: ref("c"), losses: null, computeMs: 1 });
  const forming = hear({ type: "startMerge", round: 0, contributes: true, slices: [] });
  finish(forming, { type: "formPayload", slices: [], hash: "e".repeat(64) });
  const merging = hear({ type: "applyMerge", round: 0, slices: [] });
  const merged = finish(merging, { type: "applyMerge", parameters: ref("f"), momentum: null });
  assertEquals([hasLeft(merged), handedIn(merged)], [true, true]);
});

Deno.test("Miner leaving: what could not be merged in time is said to be lost, and a stage that it is given anew is not waited for", () => {
  const slow = loaded();
  slow.deliver(0, 0);
  slow.stop({ isNeeded: true });
  assertEquals(hasLeft(slow.wait(44_999)), false);
  const gone = slow.wait(1);
  assertEquals([hasLeft(gone), handedIn(gone)], [true, false]);
  const back = loaded();
  back.deliver(0, 0);
  back.stop({ isNeeded: true });
  const source = { type: "initial" } as const;
  assertEquals(hasLeft(back.hear({ type: "assign", assignment: 2, stage, round: 1, source, peers: [] })), true);
});
