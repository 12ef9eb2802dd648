/** What the summary of a run counts: merges and not attempts, and as finished only a run whose end was reached. */

import { assertEquals } from "@std/assert";
import type { Dataset } from "../../../cli/model/data/dataset.ts";
import { Traffic } from "../../../cli/observe/traffic.ts";
import { type BegunAt, runSummary } from "../../../cli/observe/run_summary.ts";
import { stoppedCode } from "../../../cli/swarm/run_swarm.ts";
import { fold } from "../../../core/view/fold.ts";
import { emptyView } from "../../../core/view/view.ts";
import { openAfter } from "../../../core/orchestrator/past_rounds.ts";
import { applying, merging } from "../../support/swarm/scripted_merge.ts";
import { ScriptedOrchestrator } from "../../support/swarm/scripted_orchestrator.ts";

const atStart: BegunAt = { step: 0, round: 0, merges: 0, isJournaled: false };

/** As its process writes it when it ends. */
function summaryOf({ state, records }: ScriptedOrchestrator, { isFinished = false, begun = atStart } = {}) {
  const view = emptyView();
  for (const record of records) fold(view, { record, atMs: 0 });
  return runSummary({
    ...{ state, view, begun, isFinished, folder: "run", traffic: new Traffic(state.config) },
    dataset: { manifest: { bytesPerToken: 1, unigramEntropy: 1, train: { tokens: 1000 } } } as Dataset,
    ...{ startedMs: 0, firstStepAtMs: null, endedMs: 1, trainedTokens: 0 },
  });
}

const oneRound = { train: { steps: 1, stepsPerRound: 1, microbatchesPerStep: 10 } };

Deno.test("Run summary: a run that is stopped in its last merge is not finished and has merged no round", () => {
  const { hub } = merging(1, oneRound);
  const { finished, steps, rounds, mergeRounds, checkpoint, stageHashesAgree } = summaryOf(hub);
  assertEquals([hub.state.phase, steps, hub.state.config.train.steps], ["merging", 1, 1]);
  assertEquals({ finished, rounds, mergeRounds, checkpoint, stageHashesAgree }, {
    ...{ finished: false, rounds: 0, mergeRounds: 0, checkpoint: null, stageHashesAgree: null },
  });
});

Deno.test("Run summary: rounds that were lost are neither rounds nor a proof that hashes agree, and a stop fails", () => {
  const { hub } = merging(1, oneRound);
  hub.wait(600_000); // no payload comes
  const summary = summaryOf(hub);
  const { steps, rounds, mergeRounds, roundsLost, stageHashesAgree } = summary;
  assertEquals([steps, rounds, mergeRounds, roundsLost, stageHashesAgree], [0, 0, 0, 1, null]);
  assertEquals([hub.state.round, stoppedCode({ ...summary })], [1, 1], "the attempt's number is used up");
});

Deno.test("Run summary: a merged round counts, and a stop in order is fine", () => {
  const { hub, nodes } = applying(2);
  const parameters = hub.blob(64);
  for (const node of nodes) hub.tell(node, { type: "mergeApplied", round: 1, parameters, momentum: null });
  const { finished, rounds, mergeRounds, stageHashesAgree, ...rest } = summaryOf(hub, { isFinished: true });
  assertEquals([finished, rounds, mergeRounds, stageHashesAgree, stoppedCode(rest)], [true, 1, 1, true, 0]);
});

Deno.test("Run summary: without its journal a run counts from its checkpoint, and hashes only since then", () => {
  const stages = [{ type: "initial" as const }, { type: "initial" as const }];
  const from = { step: 4, sources: { round: 2, stages } };
  const hub = new ScriptedOrchestrator({}, (options) => openAfter({ ...options, from }, { reports: [], expelled: [] }));
  const begun = { ...atStart, step: 4, round: 2, merges: 2 };
  const { rounds, stageHashesAgree } = summaryOf(hub, { begun });
  assertEquals([rounds, stageHashesAgree], [2, null]);
});
