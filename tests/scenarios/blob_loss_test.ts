/**
 * An orchestrator with a real disk whose blobs vanish or rot at any moment of a round, once or all the time: the run ends complete, with
 * the hashes of an undisturbed one wherever any node still has what was lost.
 */

import { assert, assertEquals } from "@std/assert";
import type { RunRecord } from "../../core/protocol/record.ts";
import type { Reducers } from "../../core/config/payload_codec_names.ts";
import type { MergePhase } from "../../core/orchestrator/merge/merge_state.ts";
import type { StateJournal } from "../../cli/orchestrator/journal/hub_journal.ts";
import { HubJournal } from "../support/hub_journal.ts";
import { diskConfig, hitBlobs, openSwarm } from "../support/swarm/disk_swarm.ts";
import { World } from "../lab/world/world.ts";
import { withScratchFolder } from "../support/scratch_folder.ts";
import { assertReached } from "../support/swarm/reached.ts";
import { assertWhole, configOf, recordsOf } from "../support/swarm/whole_run.ts";
import { isWhole, rowTest } from "../support/whole.ts";

function agreedHashes(swarm: World): string[] {
  return recordsOf(swarm, "roundMerged").flatMap((round) => round.stages.map((stage) => stage.parameters));
}

let undisturbed: Promise<string[]> | null = null;

/** Of a run with so few replicas that every task always goes to the same one. */
function expectedHashes(): Promise<string[]> {
  undisturbed ??= (async () => {
    const swarm = new World({ config: configOf({ ...diskConfig, swarm: { replicas: 1 } }) });
    await swarm.startAll();
    await swarm.run();
    return agreedHashes(swarm);
  })();
  return undisturbed;
}

interface Moment {
  readonly name: string;
  readonly when: (record: RunRecord) => boolean;
  readonly isNeeded: boolean; // whether what is stored then will still be read, also where replicas reduce
}

const entering = (phase: MergePhase) => (record: RunRecord) => record.type === "mergePhase" && record.phase === phase;

const moments: readonly Moment[] = [
  { name: "while payloads are committed", when: entering("committing"), isNeeded: false },
  { name: "while slices are reduced", when: entering("reducing"), isNeeded: true },
  { name: "while the merge is applied", when: entering("applying"), isNeeded: true },
  { name: "when a stage has agreed", when: entering("agreed"), isNeeded: true },
  { name: "when the round has merged", when: (record) => record.type === "roundMerged", isNeeded: true },
  { name: "when its checkpoint is written", when: (record) => record.type === "checkpointWritten", isNeeded: false },
];

/** What the run reports when it continues without something that a node had computed. */
const doneWithout = (swarm: World): string[] =>
  recordsOf(swarm, "warning").map(({ text }) => text).filter((text) =>
    /without some or all|keeps? the parameters/.test(text)
  );

const setups: readonly { replicas: number; reducers: Reducers }[] = [
  { replicas: 1, reducers: "hub" },
  { replicas: 2, reducers: "hub" },
  { replicas: 2, reducers: "replicas" },
];

for (const [kind, damage] of (["delete", "rot"] as const).entries()) {
  for (const [setup, { replicas, reducers }] of setups.entries()) {
    for (const [moment, { name, when, isNeeded }] of moments.entries()) {
      const isQuick = moment % setups.length === setup && (moment + setup) % 2 === kind; // each of them at least once
      rowTest(
        isQuick,
        `Blob loss: with ${replicas} a stage, reduced by ${reducers}, ${damage} all ${name}, and the run ends whole`,
        () =>
          withScratchFolder(async (folder) => {
            const hits = new Set<string>();
            const { swarm, lost } = await openSwarm(folder, {
              ...{ replicas, reducers },
              watch: (record) => {
                const at = `${"round" in record && record.round} ${"stage" in record && record.stage}`;
                if (!when(record) || hits.has(at)) return; // a phase that is entered again is spared
                hits.add(at);
                hitBlobs(folder, damage);
              },
            });
            await swarm.startAll();
            const { finished } = await swarm.run(); // time stands still: no deadline is needed
            assert(finished && hits.size > 0);
            assertWhole(swarm);
            assertEquals([recordsOf(swarm, "nodeLost"), recordsOf(swarm, "rewound"), doneWithout(swarm)], [[], [], []]);
            const isRead = isNeeded || reducers === "hub"; // the orchestrator reads the round's start
            assertEquals(lost.length > 0, isRead, "the store finds out what somebody still needs");
            assert(lost.every(({ why }) => why === (damage === "delete" ? "gone" : "damaged")));
            if (replicas === 1) assertEquals(agreedHashes(swarm), await expectedHashes(), "nothing was lost but time");
          }),
      );
    }
  }
}

/** Its process dies instead of the first commit after `isDying`. */
function mortalJournal(inner: HubJournal, isDying: () => boolean): StateJournal {
  return {
    begin: (state, nowMs) => inner.begin(state, nowMs),
    commit: (batch, state) => {
      if (isDying()) throw new Crash();
      inner.commit(batch, state);
    },
  };
}

class Crash extends Error {}

function openJournal(folder: string) {
  const identity = { run: "local", program: "test", config: "test" };
  return HubJournal.open({ path: `${folder}/journal.db`, identity, maxBytes: 2 ** 28 });
}

/** No more time is needed after that. */
const isEverybodyBack = ({ orchestrator: { state } }: World): boolean =>
  [...state.members.values()].every((member) => member.graceUntilMs === null);

for (const { name, when } of isWhole ? moments : moments.slice(1, 3)) {
  Deno.test(`Blob loss: the orchestrator dies ${name}, comes back to an empty store, and the run has the same hashes`, () =>
    withScratchFolder(async (folder) => {
      let isDying = false;
      const { journal: first } = openJournal(folder);
      const { swarm } = await openSwarm(folder, {
        replicas: 1,
        journal: mortalJournal(first, () => isDying),
        watch: (record) => isDying ||= when(record),
      });
      await swarm.startAll();
      const end = await swarm.run().catch((error) => error);
      assert(end instanceof Crash, String(end));
      first.close();
      hitBlobs(folder, "delete");
      const { journal, recovered } = openJournal(folder);
      swarm.restart({ journal, recovered });
      await swarm.runUntil(() => isEverybodyBack(swarm), 60_000);
      await swarm.run();
      journal.close();
      assertWhole(swarm);
      assertEquals([recordsOf(swarm, "nodeLost"), doneWithout(swarm)], [[], []]);
      assertEquals(agreedHashes(swarm), await expectedHashes());
    }));
}

Deno.test("Blob loss: in a half-copied folder, whose miners are gone too, the run goes back to its last whole checkpoint", () =>
  withScratchFolder(async (folder) => {
    let isDying = false;
    const { journal: first } = openJournal(folder);
    const { swarm } = await openSwarm(folder, {
      ...{ replicas: 1, steps: 9, restartGraceMs: 1_000 },
      journal: mortalJournal(first, () => isDying),
      watch: (record) => isDying ||= record.type === "checkpointWritten" && record.round === 2,
    });
    await swarm.startAll();
    const end = await swarm.run().catch((error) => error);
    assert(end instanceof Crash, String(end));
    first.close();
    for (const { address } of [...swarm.members]) swarm.kill(address);
    hitBlobs(folder, "delete");
    await Deno.truncate(`${folder}/checkpoints/round-000002/stage-1.safetensors`, 1_000);
    const { journal, recovered } = openJournal(folder);
    swarm.restart({ journal, recovered });
    for (let i = 0; i < diskConfig.pipeline.stages; i++) await swarm.addMiner();
    const isBack = () => recordsOf(swarm, "mergeRetaken").length > 0;
    await swarm.runUntil(isBack); // those of before are waited for
    await swarm.run();
    journal.close();
    assertWhole(swarm, 9);
    const back = recordsOf(swarm, "mergeRetaken").map(({ because, step, round }) => [because, step, round]);
    // Round 3 is round 2 begun anew, as nobody has the steps that the dead process had counted in it.
    assertEquals([back, recordsOf(swarm, "stageRestored")], [[["parametersLost", 3, 4]], []]);
    const kept = recordsOf(swarm, "roundMerged")[0]!.stages.map(({ parameters }) => parameters);
    const begun = recordsOf(swarm, "nodeReady").filter(({ round }) => round === 4);
    assertEquals(begun.map(({ stage, parameters }) => [stage as number, parameters]).sort(), [...kept.entries()]);
    assertReached(swarm.orchestrator.state, "restore: the run goes back to an earlier checkpoint");
    const said = recordsOf(swarm, "warning").filter(({ text }) =>
      text.includes("rolling back to the checkpoint of step 3")
    );
    assertEquals(said.length, 1);
  }));

Deno.test("Blob loss: a disk that keeps nothing halts the run; it says which stages have no payload, and blames nobody", () =>
  withScratchFolder(async (folder) => {
    let isHit = true;
    const { swarm } = await openSwarm(folder, {
      watch: ({ type }) => {
        if (type === "trainingHalted") isHit = false;
        if (isHit) hitBlobs(folder, "delete");
      },
    });
    await swarm.startAll();
    await swarm.runUntil(() => swarm.records.count("trainingHalted") > 0);
    const [lost] = recordsOf(swarm, "mergeRetaken");
    assert(lost?.because === "payloadMissing" && (lost.stages?.length ?? 0) > 0);
    assertEquals([swarm.records.count("roundMerged"), swarm.records.count("blamed")], [0, 0]);
    await swarm.quiet();
  }));

Deno.test("Blob loss: a newcomer finds its stage gone; a replica that has it uploads it again", () =>
  withScratchFolder(async (folder) => {
    let isHit = false;
    const { swarm, lost } = await openSwarm(folder, {
      awaitsNewcomer: true,
      watch: (record, world) => {
        if (isHit || record.type !== "checkpointWritten") return;
        isHit = true;
        hitBlobs(folder, "rot");
        Deno.removeSync(`${folder}/checkpoints`, { recursive: true });
        world.addMiner();
      },
    });
    await swarm.startAll();
    await swarm.run();
    assertWhole(swarm);
    assertEquals(recordsOf(swarm, "stageRestored").map(({ round, from }) => [round, from]), [[1, "replica"]]);
    const newcomer = recordsOf(swarm, "nodeReady").find((ready) => ready.node === swarm.members.at(-1)!.address);
    assertEquals(newcomer?.round, 1);
    assert(lost.length > 0 && lost.every(({ why }) => why === "damaged"));
  }));

Deno.test("Blob loss: a newcomer finds its stage gone; the checkpoint of the round has it", () =>
  withScratchFolder(async (folder) => {
    let isHit = false;
    const { swarm, lost } = await openSwarm(folder, {
      awaitsNewcomer: true,
      watch: (record, world) => {
        if (isHit || record.type !== "checkpointWritten") return;
        isHit = true;
        hitBlobs(folder, "delete");
        world.addMiner();
      },
    });
    await swarm.startAll();
    await swarm.run();
    assertWhole(swarm);
    assertEquals(recordsOf(swarm, "stageRestored").map(({ round, from }) => [round, from]), [[1, "checkpoint"]]);
    assert(lost.length > 0 && lost.every(({ why }) => why === "gone"));
  }));
