/** A round that was merged, and whose parameters of a stage are lost before they are stored: with real numbers and a real disk. */

import { assertEquals } from "@std/assert";
import { withScratchFolder } from "../support/scratch_folder.ts";
import { diskConfig, hitBlobs, openSwarm } from "../support/swarm/disk_swarm.ts";
import { assertReached } from "../support/swarm/reached.ts";
import { assertWhole, recordsOf } from "../support/swarm/whole_run.ts";

for (const round of [1, 2]) {
  Deno.test(`Lost parameters: the only miner of a stage dies before it has stored what round ${round} begins with, and what that was made of is lost: the round is repeated`, () =>
    withScratchFolder(async (folder) => {
      const [hit, back] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      let isHit = false;
      const { swarm } = await openSwarm(folder, {
        ...{ replicas: 1, reducers: "replicas", mergePhaseMs: 600_000 },
        watch: (record, world) => {
          if (record.type === "mergeRetaken") back.resolve();
          if (isHit || record.type !== "roundMerged" || record.round !== round) return;
          isHit = true;
          world.kill(world.members[0]!.address);
          hitBlobs(folder, "delete");
          hit.resolve();
        },
      });
      await swarm.startAll();
      await hit.promise;
      await swarm.runUntil(() => swarm.records.count("nodeLost") > 0, 60_000);
      await back.promise; // which takes no more time
      await swarm.addMiner();
      await swarm.run();
      assertWhole(swarm);
      const { counters } = swarm.orchestrator.state;
      assertEquals([counters.roundsLost, swarm.records.count("blamed")], [1, 0]);
      assertReached(swarm.orchestrator.state, "restore: a merged round is repeated");
      const [retaken] = recordsOf(swarm, "mergeRetaken");
      assertEquals([retaken?.because, retaken?.step, retaken?.stages?.length], ["parametersLost", 3 * (round - 1), 1]);
      const { train: { steps, microbatchesPerStep } } = diskConfig;
      assertEquals(
        counters.microbatchesCredited,
        steps * microbatchesPerStep,
        "no step counts that is in no parameters",
      );
      const first = recordsOf(swarm, "stepClosed").filter(({ step }) => step === 3 * (round - 1) + 1);
      assertEquals(first.length, 2);
      assertEquals(first[0]?.loss, first[1]?.loss, "the round begins anew with the same parameters");
    }));
}
