/** The miner's machine, where no swarm of honest machines leads it. */

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { type Fault, fault } from "../../../core/fault.ts";
import { blobHash, type BlobRef, microbatchId, stageIndex, taskId } from "../../../core/ids.ts";
import type { MinerEffect } from "../../../core/miner/event.ts";
import { miner } from "../../../core/miner/machine.ts";
import { openMiner } from "../../../core/miner/state.ts";
import type { HubMessage, NodeMessage } from "../../../core/protocol/message.ts";
import { tinyConfig } from "../../support/tiny_model.ts";

const ref = (letter: string): BlobRef => ({ hash: blobHash(letter.repeat(64)), bytes: 64 });

type Result = Extract<Parameters<typeof miner.step>[1], { type: "workDone" }>["result"];

const stage = stageIndex(0);
const backward = (index: number) =>
  taskId({ microbatch: microbatchId(index), stage, direction: "backward", attempt: 0 });

/** A miner with its stage loaded. */
function loaded() {
  const state = openMiner({ adapter: "none", previousStage: null });
  const hear = (message: HubMessage, segments: BlobRef[] = []): MinerEffect[] =>
    miner.step(state, { type: "messageReceived", message, segments }, 0);
  const finish = (effects: MinerEffect[], result: Result) => {
    const work = effects.find((effect) => effect.type === "perform");
    return work === undefined ? [] : miner.step(state, { type: "workDone", job: work.job, result }, 0);
  };
  hear({ type: "welcome", config: tinyConfig(), layersOfStages: [1], isKept: false, shows: [] });
  const source = { type: "initial" } as const;
  finish(hear({ type: "assign", assignment: 1, stage, round: 0, source, peers: [] }), {
    type: "loadStage",
    parameters: ref("a"),
    localSteps: 0,
  });
  const handed = (index: number) =>
    hear({
      ...{ type: "runTask", task: backward(index), microbatch: microbatchId(index), stage },
      ...{ direction: "backward", step: 0 },
    }, [ref("b"), ref("c")]);
  const fail = (effects: MinerEffect[], reason: Fault) => {
    const work = effects.find((effect) => effect.type === "perform");
    return work === undefined ? [] : miner.step(state, { type: "workFailed", job: work.job, fault: reason }, 0);
  };
  const comeBack = (shows: readonly number[] = []) => {
    miner.step(state, { type: "disconnected" }, 0);
    miner.step(state, { type: "connected", resumed: false }, 0);
    return hear({ type: "welcome", config: tinyConfig(), layersOfStages: [1], isKept: true, shows });
  };
  const waitUntil = (nowMs: number) => miner.step(state, { type: "tick" }, nowMs);
  const dueMs = () => miner.nextDeadlineMs(state);
  return { hear, finish, fail, handed, comeBack, waitUntil, dueMs, state };
}

const works = (effects: readonly MinerEffect[]) =>
  effects.flatMap((effect) => effect.type === "perform" ? [effect.work] : []);

const computed: Result = { type: "runTask", output: null, losses: null, computeMs: 1 };

Deno.test("Miner: it leaves rather than take a step with another gradient than the one that was counted", () => {
  const { hear, finish, handed } = loaded();
  finish(handed(0), computed);
  const effects = hear({ type: "applyStep", step: 0, tasks: 2, learningRate: 1e-3, clipFactor: 1, shows: false });
  assertEquals(effects.map((effect) => effect.type === "send" ? effect.message.type : effect.type), [
    "leaving",
    "record",
    "finish",
  ]);
  const [leaving] = effects;
  assertStringIncludes(JSON.stringify(leaving), "its header counts 2 tasks, and the gradient has 1");
});

Deno.test("Miner: asked to commit ahead, it answers behind the last result, and repeats nothing for a task that was cancelled", () => {
  const { hear, finish, handed } = loaded();
  const running = handed(0);
  handed(1);
  const tasks = [backward(0), backward(1)];
  hear({ type: "sealStep", round: 0, step: 0, request: 1, tasks, delivered: tasks });
  hear({ type: "cancelTasks", tasks: [backward(1)] });
  const effects = finish(running, computed);
  assertEquals(effects.flatMap((effect) => effect.type === "send" ? [effect.message.type] : []), ["taskDone"]);
  assertEquals(effects.flatMap((effect) => effect.type === "perform" ? [effect.work] : []), [
    { type: "sealGradients", replay: null },
  ]);
  const answer = finish(effects, { type: "sealGradients", squareSum: 4 })[0];
  assertEquals(answer?.type === "send" && answer.message.type === "stepSealed" && answer.message.tasks, 1);
});

Deno.test("Miner: it copies and shows what it was asked for also when it must load its stage again", () => {
  const { hear, finish, handed } = loaded();
  const running = handed(0);
  hear({ type: "applyStep", step: 7, tasks: 1, learningRate: 1e-3, clipFactor: 1, shows: true });
  const source = { type: "initial" } as const;
  assertEquals(works(hear({ type: "assign", assignment: 2, stage, round: 3, source, peers: [] })), []);
  const copying = finish(running, computed);
  assertEquals(works(copying), [{ type: "copyState", round: 0, step: 7 }]);
  const uploading = finish(copying, { type: "copyState" });
  const [upload, load] = works(uploading);
  assertEquals([upload, load?.type], [{ type: "uploadState", round: 0, step: 7 }, "loadStage"]);
  hear({ type: "assign", assignment: 3, stage, round: 4, source, peers: [] });
  const shown = finish(uploading, { type: "uploadState", change: ref("d") });
  const message: NodeMessage = { type: "stateShown", round: 0, step: 7, change: ref("d") };
  assertEquals(shown, [{ type: "send", message, attachments: [] }]);
});

Deno.test("Miner: what it was asked to show and could not upload, or had said when the orchestrator died, it says when it is back", () => {
  const { hear, finish, fail, handed, comeBack } = loaded();
  const header = (step: number) =>
    hear({ type: "applyStep", step, tasks: 1, learningRate: 1e-3, clipFactor: 1, shows: true });
  const message = (step: number): NodeMessage => ({ type: "stateShown", round: 0, step, change: ref("d") });
  const said = (effects: MinerEffect[]) =>
    effects.flatMap((effect) => effect.type === "send" && effect.message.type === "stateShown" ? [effect.message] : []);
  finish(handed(0), computed);
  const applying = finish(header(0), { type: "copyState" });
  finish(applying.filter((effect) => effect.type !== "perform" || effect.work.type === "applyStep"), {
    type: "applyStep",
  });
  const shown = finish(applying, { type: "uploadState", change: ref("d") });
  assertEquals(said(shown), [message(0)]);
  finish(handed(1), computed);
  const uploading = finish(header(1), { type: "copyState" });
  const failed = fail(uploading, fault("badBlob", "no answer"));
  assertEquals([works(failed), said(failed)], [[], []]);
  const back = comeBack();
  assertEquals([said(back), works(back)], [[message(0)], [{ type: "uploadState", round: 0, step: 1 }]]);
  assertEquals(said(finish(back, { type: "uploadState", change: ref("d") })), [message(1)]);
  assertEquals(said(comeBack()), [message(0), message(1)]);
});

Deno.test("Miner: an upload that fails while nothing else happens is tried again, until its round is over", () => {
  const { hear, finish, fail, handed, waitUntil, dueMs, state } = loaded();
  finish(handed(0), computed);
  const asked = hear({ type: "applyStep", step: 0, tasks: 1, learningRate: 1e-3, clipFactor: 1, shows: true });
  fail(finish(asked, { type: "copyState" }), fault("badBlob", "no room"));
  const dueAtMs = dueMs();
  assert(dueAtMs !== null && dueAtMs > 0);
  assertEquals(works(waitUntil(dueAtMs - 1)), []);
  const again = waitUntil(dueAtMs);
  assertEquals([works(again), dueMs()], [[{ type: "uploadState", round: 0, step: 0 }], null]);
  fail(again, fault("badBlob", "no room"));
  state.round = 2;
  assertEquals([works(waitUntil(dueAtMs)), state.unsent], [[], []], "nobody waits for it any more");
});

Deno.test("Miner: its owner reads of an upload for a merge that was refused", () => {
  const { hear, fail } = loaded();
  const asked = hear({ type: "uploadParameters", round: 0 });
  const upload = { status: 413, bytes: 30_096, clockMs: 0 };
  const failed = fail(asked, { ...fault("uploadFailed", "answered 413"), upload });
  assertEquals(failed.map((effect) => effect.type), ["send", "record"]);
  assertEquals(failed.at(-1), { type: "record", record: { type: "uploadFailed", round: 0, upload } });
});

Deno.test("Miner: a request to show that was lost with its session is made good while nothing has been applied since", () => {
  const { finish, handed, hear, comeBack } = loaded();
  const back = comeBack([3]);
  assertEquals(works(back), [{ type: "copyState", round: 0, step: 3 }]);
  assertEquals(works(comeBack([3])), [], "it is being copied");
  const uploading = finish(back, { type: "copyState" });
  assertEquals(works(uploading), [{ type: "uploadState", round: 0, step: 3 }]);
  assertEquals(works(comeBack([3])), [], "it is on its way");
  finish(uploading, { type: "uploadState", change: ref("d") });
  assertEquals(works(comeBack([3])), [], "it has been said");
  finish(handed(0), computed);
  finish(hear({ type: "applyStep", step: 4, tasks: 1, learningRate: 1e-3, clipFactor: 1, shows: false }), {
    type: "applyStep",
  });
  assertEquals(works(comeBack([4])), [], "its parameters are others now");
});
