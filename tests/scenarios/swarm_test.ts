/** Whole runs of the production machines in one process. */

import { assert, assertEquals } from "@std/assert";
import type { RunRecord } from "../../core/protocol/record.ts";
import { World } from "../lab/world/world.ts";
import { tinyConfig } from "../support/tiny_model.ts";
import { honestError } from "../support/swarm/whole_run.ts";

function recordsOf<T extends RunRecord["type"]>(swarm: World, type: T): Extract<RunRecord, { type: T }>[] {
  return swarm.records.all.filter((record): record is Extract<RunRecord, { type: T }> => record.type === type);
}

Deno.test("Swarm: three stages of two replicas train to the end, agree on every hash and lose nothing", async () => {
  const config = tinyConfig({
    swarm: { replicas: 2 },
    train: { steps: 6, stepsPerRound: 3 },
    deterministic: false,
    pipeline: { codec: "iota" },
  });
  const swarm = new World({ config });
  await swarm.startAll();
  const { finished } = await swarm.run();
  assert(finished);
  const { counters, phase, step, round } = swarm.orchestrator.state;
  assertEquals({ phase, step, round }, { phase: "finished", step: 6, round: 2 });
  assertEquals(counters.microbatchesIssued, counters.microbatchesCredited);
  assertEquals(counters.disagreements, 0);
  const perStep = config.train.microbatchesPerStep;
  const merges = recordsOf(swarm, "roundMerged");
  assertEquals(merges.length, 2);
  for (const merge of merges) for (const stage of merge.stages) assert(stage.agree && stage.replicas === 2);
  const verdicts = recordsOf(swarm, "verdict");
  const ofFirstSteps = verdicts.filter(({ task, round }) => Number(task.split(".")[0]) < (3 * round + 1) * perStep);
  assertEquals(
    ofFirstSteps.length,
    2 * (6 + 2 + 2 + 2),
    "a verdict for each miner and round, two where a pass is two tasks, and two for heads and tails",
  );
  assert(verdicts.length > ofFirstSteps.length, "later steps are audited too");
  for (const verdict of verdicts) {
    const { passed, innovationError, equalShare } = verdict;
    assert(passed && innovationError <= honestError(config, verdict), JSON.stringify(verdict));
    if (verdict.gradient === undefined) assert(equalShare > 0.9 || innovationError > 0, JSON.stringify(verdict));
  }
  assertEquals(recordsOf(swarm, "evaluated").map((record) => record.round).sort(), [0, 1, 2]);
  assertEquals(swarm.orchestrator.segments.bytes, 0, "no segment is held after the run");
  const ofFlow = 3 * 3; // in each stage a forward and a backward, which costs two; one unit is the mean stage's forward
  const perRound = 3 * config.train.microbatchesPerStep * ofFlow;
  const sums = swarm.scores.map(({ round, scores }) => [round, scores.reduce((sum, { score }) => sum + score, 0)]);
  assertEquals(
    sums,
    [[0, 0], [1, 0], [2, 2 * perRound]],
    "every item of work is scored once, when it is due or the run ends",
  );
});
