/** What a swarm knows of its run when the orchestrator was restarted and has repeated some of it. */

import { assertEquals } from "@std/assert";
import { noBytes } from "../../../core/view/curves.ts";
import { SwarmTally } from "../../../cli/swarm/swarm_tally.ts";
import { microbatchId, nodeId, stageIndex, taskId } from "../../../core/ids.ts";
import type { RunRecord } from "../../../core/protocol/record.ts";

const validator = nodeId("validator"), miner = nodeId("miner");

const started = (step: number): RunRecord => ({ type: "runStarted", step, round: 0, stages: 3, miners: 6 });
const closed = (step: number, loss: number): RunRecord => ({
  type: "stepClosed",
  step,
  steps: 100,
  round: 0,
  loss,
  learningRate: 1,
  gradientNorm: 1,
  clipFactor: 1,
  tokens: 10,
  stepMs: 1,
});
const evaluated = (round: number, loss: number): RunRecord => ({
  type: "evaluated",
  round,
  validator,
  loss,
  tokens: 10,
});
const verdict = (round: number, microbatch: number, passed = true): Extract<RunRecord, { type: "verdict" }> => ({
  type: "verdict",
  round,
  validator,
  miner,
  stage: stageIndex(0),
  task: taskId({ microbatch: microbatchId(microbatch), stage: stageIndex(0), direction: "forward", attempt: 0 }),
  passed,
  innovationError: 0,
  equalShare: 1,
  lossError: null,
  tolerance: 1,
});
const merged = (round: number, agree: boolean): RunRecord => ({
  type: "roundMerged",
  round,
  stages: [{ stage: stageIndex(0), parameters: "aa", replicas: 2, agree }],
  bytesPerMiner: 1,
  mergeMs: 1,
  draws: "",
});

Deno.test("Swarm tally: a repeated step, merge or audit counts once, and the first loss is the first one seen", () => {
  const tally = new SwarmTally();
  const records = [
    ...[started(0), evaluated(0, 7), verdict(0, 1), closed(1, 7), closed(2, 6), merged(1, true)],
    ...[started(0), evaluated(0, 7), verdict(0, 1), verdict(0, 1, false), closed(1, 7.5), closed(2, 6.5)],
    ...[merged(1, true), evaluated(1, 6), closed(3, 5)],
  ];
  for (const [i, record] of records.entries()) tally.onRecord(record, 1000 + 100 * i);
  const told = { type: "summary", finished: true, steps: 3, lossFirst: 5, stageHashesAgree: true, verdictsPassed: 0 };
  assertEquals(tally.summary(told, { nowMs: 4000, moved: noBytes() }), {
    finished: true,
    steps: 3,
    tokens: 30,
    tokensPerSecond: 10,
    lossFirst: 7,
    lossLast: 5,
    validationLossFirst: 7,
    validationLossLast: 6,
    reLeases: 0,
    stageHashesAgree: true,
    verdictsPassed: 1,
    verdictsFailed: 1,
    checkpoint: null,
    resumedAtStep: null,
    bytesPerTrainedToken: 0,
    ...{ wireBytes: 0, mergeBytes: 0, parameterBytes: 0, controlBytes: 0 },
  });
  assertEquals(tally.firstStepAtMs, 1300);
});

Deno.test("Swarm tally: bytes of all lives are those of the tokens that they trained, also when the run went back", () => {
  const tally = new SwarmTally();
  const moved = { wires: 80, merge: 60, parameters: 40, control: 20 };
  const rewound: RunRecord = { type: "rewound", step: 60, toStep: 0, tokens: 600 };
  tally.onRecord(rewound, 1);
  assertEquals(tally.summary(null, { nowMs: 2, moved: noBytes() })["bytesPerTrainedToken"], null);
  for (const record of [started(0), closed(1, 7), started(0), closed(1, 7.5), closed(2, 6)]) tally.onRecord(record, 2);
  const { tokens, bytesPerTrainedToken, mergeBytes } = tally.summary({ type: "summary", mergeBytes: 3 }, {
    nowMs: 4,
    moved,
  });
  assertEquals([tokens, bytesPerTrainedToken, mergeBytes], [20, 10, 60]);
});

Deno.test("Swarm tally: a resumed run's only evaluation is its last as well as its first", () => {
  const tally = new SwarmTally();
  tally.onRecord(evaluated(8, 4.4), 1);
  const { validationLossFirst, validationLossLast } = tally.summary(null, { nowMs: 2, moved: noBytes() });
  assertEquals([validationLossFirst, validationLossLast], [4.4, 4.4]);
  assertEquals(
    new SwarmTally().summary({ type: "summary", validationLossLast: 4.3 }, {
      nowMs: 2,
      moved: noBytes(),
    })["validationLossLast"],
    4.3,
  );
});

Deno.test("Swarm tally: what one life saw is not forgotten by the next", () => {
  const tally = new SwarmTally();
  const lost: RunRecord = { type: "nodeLost", node: miner, reason: "silent", tasksReissued: 3, tasksKept: 0 };
  const saved: RunRecord = { type: "checkpointWritten", round: 1, step: 2, folder: "run/checkpoints/round-000001" };
  for (const record of [started(0), lost, closed(1, 7), merged(1, false), saved, started(2)]) tally.onRecord(record, 1);
  const { reLeases, stageHashesAgree, checkpoint } = tally.summary({ type: "summary", stageHashesAgree: true }, {
    nowMs: 2,
    moved: noBytes(),
  });
  assertEquals([reLeases, stageHashesAgree, checkpoint], [3, false, "run/checkpoints/round-000001"]);
  const { finished, steps, rounds, microbatchesLost } = tally.summary(null, { nowMs: 2, moved: noBytes() });
  assertEquals([finished, steps, rounds, microbatchesLost], [false, 1, 1, null]);
});

Deno.test("Swarm tally: hashes agree only once something was merged, and a resumed swarm says from where", () => {
  const tally = new SwarmTally();
  assertEquals(tally.summary(null, { nowMs: 1, moved: noBytes() })["stageHashesAgree"], null);
  tally.begin(40);
  tally.onRecord(closed(41, 7), 1);
  tally.begin(41); // the orchestrator's second life
  tally.onRecord(merged(5, true), 2);
  const { stageHashesAgree, resumedAtStep } = tally.summary(null, { nowMs: 3, moved: noBytes() });
  assertEquals([stageHashesAgree, resumedAtStep], [true, 40]);
});

Deno.test("Swarm tally: a task's verdict and that of its gradient are two, and a run that rollbacks at first resumes there", () => {
  const tally = new SwarmTally();
  tally.begin(5);
  const rewound = (toStep: number): RunRecord => ({ type: "rewound", step: 5, toStep, tokens: 20 });
  const ofGradient: RunRecord = { ...verdict(0, 1), gradient: { claimed: 1, found: 1, least: 0 } };
  const records = [rewound(3), verdict(0, 1), ofGradient, ofGradient, closed(4, 6), closed(5, 5), rewound(4)];
  for (const record of records) tally.onRecord(record, 1000);
  const { resumedAtStep, verdictsPassed, tokens } = tally.summary(null, { nowMs: 2000, moved: noBytes() });
  assertEquals([resumedAtStep, verdictsPassed, tokens], [3, 2, 20]);
});
