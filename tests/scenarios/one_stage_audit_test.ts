/** Runs of one stage: there are no wires to compare, so validators compare the losses that miners report. */

import { assert, assertEquals } from "@std/assert";
import type { RunRecord } from "../../core/protocol/record.ts";
import { hostileMiner } from "../lab/redteam/hostile_node.ts";
import { reportsLoss } from "../lab/redteam/hostile_wires.ts";
import { referenceHost } from "../lab/world/devices.ts";
import { World } from "../lab/world/world.ts";
import { tinyConfig } from "../support/tiny_model.ts";
import { honestError } from "../support/swarm/whole_run.ts";

const config = tinyConfig({
  pipeline: { stages: 1, codec: "none" },
  swarm: { replicas: 2, validators: 1 },
  train: { steps: 6, stepsPerRound: 3 },
  deterministic: false,
});

type Verdict = Extract<RunRecord, { type: "verdict" }>;
const verdictsOf = (swarm: World): Verdict[] =>
  swarm.records.all.filter((record): record is Verdict => record.type === "verdict" && record.gradient === undefined);

Deno.test("One stage: every miner's losses are repeated in every round, and honest ones are exact", async () => {
  const swarm = new World({ config });
  await swarm.startAll();
  assert((await swarm.run()).finished);
  const verdicts = verdictsOf(swarm);
  assertEquals(new Set(verdicts.map(({ miner, round }) => `${miner} ${round}`)).size, 4, "two miners, two rounds");
  for (const verdict of verdicts) {
    assert(verdict.passed && verdict.lossError! <= honestError(config, verdict), JSON.stringify(verdict));
  }
});

Deno.test("One stage: a miner that reports a loss it does not have is found out, repeated by the orchestrator and banned", async () => {
  const swarm = new World({ config });
  const liar = await swarm.addMiner(
    hostileMiner({ hostile: reportsLoss(4), host: referenceHost(), store: swarm.blobs, isOn: () => true }),
  );
  await swarm.addMiner();
  await swarm.addMiner();
  swarm.addValidator();
  assert((await swarm.run()).finished);
  assert(swarm.orchestrator.state.expelled.has(liar.address as never), "the liar is out");
  for (const { miner, passed } of verdictsOf(swarm)) if (miner !== liar.address) assert(passed);
});
