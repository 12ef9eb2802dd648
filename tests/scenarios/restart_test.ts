/** An orchestrator that goes on from its journal: with other settings, in every phase, with and without its miners. */

import { assert, assertEquals } from "@std/assert";
import { passTimes } from "../lab/world/devices.ts";
import { World } from "../lab/world/world.ts";
import { config, openJournal, present, withJournal } from "../support/swarm/restarts.ts";
import { tinyConfig } from "../support/tiny_model.ts";

Deno.test("Restart: a stopped orchestrator comes back with more steps to do, also while its last round is stored", async () => {
  const { steps } = config.train;
  const longer = tinyConfig({ ...config, train: { ...config.train, steps: steps + 2 } });
  for (const phase of ["gathering", "training", "merging", "closing"] as const) {
    await withJournal(async (path) => {
      const first = openJournal(path).journal;
      let isStopped = false;
      const swarm: World = new World({
        config,
        hub: { journal: first },
        watch: (_, { orchestrator }) => {
          if (orchestrator.state.phase !== phase || isStopped) return;
          isStopped = true;
          orchestrator.stop("interrupted");
        },
      });
      await swarm.startAll();
      assertEquals((await swarm.runThrough()).finished, false, phase);
      first.close();
      const { journal, recovered } = openJournal(path);
      swarm.restart({ journal, recovered: present(recovered), config: longer });
      await swarm.runThrough();
      journal.close();
      assertEquals([swarm.orchestrator.state.step, swarm.orchestrator.state.phase], [steps + 2, "finished"], phase);
    });
  }
});

Deno.test("Restart: changed settings count from then on, also for a life that is told nothing of them", () => {
  return withJournal(async (path) => {
    const first = openJournal(path).journal;
    const swarm = new World({
      config: { ...config, train: { ...config.train, steps: 12 } },
      hub: { journal: first },
      watch: (record, { orchestrator }) => {
        if (record.type === "stepClosed" && (record.step === 3 || record.step === 6)) orchestrator.stop("enough");
      },
    });
    await swarm.startAll();
    const restart = async (train: Partial<typeof config.train>) => {
      const { journal, recovered } = openJournal(path);
      const before = present(recovered).state.config;
      swarm.restart({ journal, recovered, config: { ...before, train: { ...before.train, ...train } } });
      await swarm.runThrough();
      journal.close();
      return before;
    };
    await swarm.runThrough();
    first.close();
    await restart({ learningRate: config.train.learningRate / 4, stepsPerRound: 4, steps: 10 });
    const { train } = await restart({});
    assertEquals([train.learningRate, train.stepsPerRound, train.steps], [config.train.learningRate / 4, 4, 10]);
    const { step, phase, round } = swarm.orchestrator.state;
    assertEquals([step, phase, round], [10, "finished", 4], "merged after 2, 4, 8 and 10 steps");
    assertEquals(swarm.refusals, [], "no miner gave up");
  });
});

Deno.test("Restart: when every miner is gone as well, the round begins again and nothing counts that is in no parameters", () => {
  return withJournal(async (path) => {
    const longRounds = tinyConfig({ ...config, train: { ...config.train, stepsPerRound: 4 } });
    const first = openJournal(path).journal;
    const swarm = new World({ config: longRounds, passMs: passTimes(10), hub: { journal: first } });
    const end = swarm.orchestrator.finished.then(() => null, () => null);
    await swarm.startAll();
    await swarm.runUntil(() => swarm.orchestrator.state.step >= 2, 10_000);
    for (const { address } of swarm.members) swarm.kill(address);
    first.close(); // its next entry fails, as on a disk that is gone
    await swarm.runUntil(() => true);
    swarm.orchestrator.stop("gone");
    await end;
    const { journal, recovered } = openJournal(path);
    assert(recovered !== null && recovered.state.step >= 2);
    swarm.restart({ journal, recovered });
    await swarm.addMiners(3);
    await swarm.runThrough();
    journal.close();
    const rewound = swarm.records.all.filter((record) => record.type === "rewound");
    assertEquals(rewound.map((record) => record.toStep), [0]);
    const { counters, step } = swarm.orchestrator.state;
    assertEquals([step, counters.microbatchesIssued, counters.microbatchesCredited], [4, 8, 8]);
  });
});

Deno.test("Restart: a run that is told no more steps than it has done ends at once, without any miner", () => {
  return withJournal(async (path) => {
    const first = openJournal(path).journal;
    const longer = tinyConfig({ ...config, train: { ...config.train, steps: 8 } });
    const swarm: World = new World({
      config: longer,
      hub: { journal: first },
      watch: (record, { orchestrator }) => {
        if (record.type === "checkpointWritten" && orchestrator.state.round === 2) orchestrator.stop("enough");
      },
    });
    await swarm.startAll();
    assertEquals((await swarm.runThrough()).finished, false);
    first.close();
    const { step } = swarm.orchestrator.state;
    for (const { address } of swarm.members) swarm.kill(address);
    const { journal, recovered } = openJournal(path);
    const { roundFirstStep } = present(recovered).state;
    assertEquals([step, roundFirstStep], [4, 4], "stopped between two rounds, with a step open");
    swarm.restart({ journal, recovered, config: tinyConfig({ ...longer, train: { ...longer.train, steps: 4 } }) });
    const { finished } = await swarm.runThrough();
    journal.close();
    const { state, segments } = swarm.orchestrator;
    assertEquals([finished, state.step, state.phase, segments.bytes], [true, 4, "finished", 0]);
    assertEquals(state.counters.microbatchesIssued, state.counters.microbatchesCredited);
  });
});
