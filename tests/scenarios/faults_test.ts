/**
 * What a run survives: a miner that dies at any moment, a stage without replicas, a broken link, a straggler, wrong
 * numbers, liars in a merge. Every run must finish, credit each microbatch once and end with equal hashes.
 */

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { fault } from "../../core/fault.ts";
import type { RunRecord } from "../../core/protocol/record.ts";
import type { BlobAccess } from "../../cli/roles/blob_access.ts";
import { referenceHost } from "../lab/world/devices.ts";
import { World } from "../lab/world/world.ts";
import { assertWhole, configOf, recordsOf } from "../support/swarm/whole_run.ts";
import { isWhole } from "../support/whole.ts";

const moments: { name: string; when: (record: RunRecord) => boolean }[] = [
  { name: "in a forward", when: (record) => record.type === "taskFinished" && record.direction === "forward" },
  {
    name: "after a gradient was accepted",
    when: (record) => record.type === "taskFinished" && record.direction === "backward",
  },
  {
    name: "after a turnaround was accepted",
    when: (record) => record.type === "taskFinished" && record.direction === "turnaround",
  },
  { name: "when a step has closed", when: (record) => record.type === "stepClosed" && record.step === 2 },
  {
    name: "while payloads are committed",
    when: (record) => record.type === "mergePhase" && record.phase === "committing",
  },
  { name: "while slices are reduced", when: (record) => record.type === "mergePhase" && record.phase === "reducing" },
  { name: "while the merge is applied", when: (record) => record.type === "mergePhase" && record.phase === "applying" },
  { name: "when its stage has agreed", when: (record) => record.type === "mergePhase" && record.phase === "agreed" },
  { name: "when the round has merged", when: (record) => record.type === "roundMerged" },
];

for (const { name, when } of moments) {
  for (const victimOf of isWhole ? ["the node or stage concerned", "the tail"] : ["the node or stage concerned"]) {
    Deno.test(`Faults: a miner of ${victimOf} killed ${name} costs nothing`, async () => {
      let victim: string | null = null;
      const stages = new Map<string, number>();
      const swarm = new World({
        config: configOf(),
        watch: (record, world) => {
          if (record.type === "nodeReady") stages.set(record.node, record.stage);
          if (victim !== null || !when(record)) return;
          const stage = "stage" in record && victimOf !== "the tail" ? record.stage : 2;
          const concerned = "node" in record && victimOf !== "the tail" ? record.node : null;
          victim = concerned ?? [...stages].find(([, other]) => other === stage)?.[0] ?? null;
          assert(victim !== null);
          world.kill(victim);
        },
      });
      await swarm.startAll();
      const { finished } = await swarm.runThrough();
      assert(finished && victim !== null);
      assertEquals(recordsOf(swarm, "nodeLost").map((record) => record.node as string), [victim]);
      assertWhole(swarm);
    });
  }
}

Deno.test("Faults: a stage that lost its only replica waits for a newcomer, and the round begins anew", async () => {
  let victim: string | null = null;
  const swarm = new World({
    config: configOf({ swarm: { replicas: 1 } }),
    watch: (record, world) => {
      if (victim !== null || record.type !== "stepClosed" || record.step !== 2) return;
      victim = world.members[1]!.address;
      world.kill(victim);
    },
  });
  await swarm.startAll();
  await swarm.runUntil(() => swarm.records.count("nodeLost") === 1);
  assertEquals(
    [swarm.orchestrator.state.phase, swarm.orchestrator.state.step],
    ["training", 0],
    "its steps are done again",
  );
  const newcomer = await swarm.addMiner();
  await swarm.runThrough();
  assertWhole(swarm);
  const ready = recordsOf(swarm, "nodeReady").find((record) => record.node === newcomer.address);
  assertEquals([ready?.stage, ready?.round], [1, 1]);
});

Deno.test("Faults: a newcomer works within the round and shows its peers' hash at the next merge", async () => {
  let joined = false;
  const swarm = new World({
    config: configOf({ train: { steps: 9, stepsPerRound: 3 } }),
    watch: (record, world) => {
      if (joined || record.type !== "stepClosed" || record.step !== 4) return;
      joined = true;
      world.addMiner();
    },
  });
  await swarm.startAll();
  await swarm.runThrough();
  assertWhole(swarm, 9);
  const newcomer = swarm.members.at(-1)!.address;
  assert(recordsOf(swarm, "taskFinished").some((record) => record.node === newcomer), "it did tasks");
  const last = recordsOf(swarm, "roundMerged").at(-1)!;
  assertEquals(last.stages.map((stage) => stage.replicas).sort(), [2, 2, 3]);
  assert(last.stages.every((stage) => stage.agree));
});

Deno.test("Faults: who is not admitted any more is told why and sent away, and its work is done by others", async () => {
  let outcast: string | null = null;
  const refusal = fault("notAdmitted", "Cannot admit it: its hotkey is not registered");
  const swarm = new World({
    config: configOf(),
    hub: { admit: ({ node }) => node === outcast ? refusal : null },
    watch: (record, world) => {
      if (outcast !== null || record.type !== "taskFinished" || world.orchestrator.state.step !== 1) return;
      outcast = record.node;
      world.orchestrator.review();
      world.orchestrator.review(); // before the first one was acted on
    },
  });
  await swarm.startAll();
  const told = swarm.members.map(({ role }) => role.finished.then(() => null, (error) => error.message as string));
  await swarm.runThrough();
  assertWhole(swarm);
  const lost = recordsOf(swarm, "nodeLost").map(({ node, reason }) => [node as string, reason]);
  assertEquals(lost, [[outcast!, "it is no longer admitted"]]);
  const at = swarm.members.findIndex(({ address }) => address === outcast);
  assertStringIncludes((await told[at])!, "refused this node (notAdmitted): Cannot admit it: its hotkey");
});

Deno.test("Faults: a link that breaks and comes back loses nothing and re-leases nothing", async () => {
  let cuts = 0;
  const swarm = new World({
    config: configOf(),
    watch: (record, world) => {
      if (record.type !== "taskFinished" || record.microbatch % 3 !== 1) return;
      cuts += 1;
      world.member(record.node).link.cut();
    },
  });
  await swarm.startAll();
  await swarm.runThrough();
  assert(cuts > 10, `${cuts} cuts`);
  assertWhole(swarm);
  assertEquals([recordsOf(swarm, "nodeLost").length, swarm.orchestrator.state.counters.reLeases], [0, 0]);
});

Deno.test("Faults: a straggler's task goes to another miner; its late gradient is replayed away", async () => {
  let straggler: string | null = null;
  const config = configOf({ limits: { leaseMs: 5_000, disconnectGraceMs: 60_000 } });
  const swarm = new World({
    config,
    watch: (record, world) => {
      if (straggler === null && record.type === "taskFinished" && record.direction === "turnaround") {
        straggler = record.node;
        world.member(record.node).link.hold(); // what it sends now is stuck
      }
      if (record.type === "taskReleased" && record.node === straggler) world.member(straggler).link.release();
    },
  });
  await swarm.startAll();
  await swarm.runThrough();
  assertWhole(swarm);
  assert(recordsOf(swarm, "taskReleased").length > 0);
  assertEquals(recordsOf(swarm, "nodeLost"), []);
  const late = recordsOf(swarm, "faultSeen").filter((record) => record.code === "staleResult");
  assert(late.length > 0, "the late result was refused");
});

/** Stores other bytes than it was given for slices of this size: a reducer that lies about its average. */
function lyingBlobs(inner: BlobAccess): BlobAccess {
  let puts = 0;
  return {
    put: (bytes) => {
      const isPayload = puts++ === 0; // of one slice, with two replicas; what follows is its reduction
      return inner.put(isPayload ? bytes : bytes.map((byte, i) => i === 0 ? byte ^ 1 : byte));
    },
    get: (ref) => inner.get(ref),
  };
}

Deno.test("Faults: a replica that lies about its slice leaves the run within the round, and the honest value is taken", async () => {
  const outer = { learningRate: 1, momentum: 0, reducers: "replicas" } as const;
  const swarm = new World({ config: configOf({ outer }) });
  await swarm.addMiners(5);
  const liar = await swarm.addMiner({ blobs: lyingBlobs(swarm.blobs) });
  await swarm.runThrough();
  assertWhole(swarm);
  const disputes = recordsOf(swarm, "sliceDisputed");
  assertEquals(disputes.map((record) => record.liar as string | null), [liar.address]);
  assertEquals(disputes.every((record) => record.round === 0), true);
  assertEquals(recordsOf(swarm, "nodeLost").map((record) => record.node as string), [liar.address]);
  assertEquals(swarm.refusals.length, 1, "it is told, for good");
});

Deno.test("Faults: wrong numbers and wrong sizes are refused and done by another miner", async () => {
  for (const wrong of ["nan", "short"] as const) {
    const swarm = new World({ config: configOf() });
    await swarm.addMiners(5);
    const device = referenceHost();
    const bad = await swarm.addMiner({
      device: {
        ...device,
        openStage: async (spec) => {
          const stage = await device.openStage(spec);
          const turnaround = stage.turnaround.bind(stage);
          stage.turnaround = async (input, targets) => {
            const result = await turnaround(input, targets);
            return wrong === "nan"
              ? { ...result, lossPerSequence: result.lossPerSequence.fill(NaN) }
              : { ...result, gradient: result.gradient!.subarray(2) };
          };
          return stage;
        },
      },
    });
    await swarm.runThrough();
    assertWhole(swarm);
    const faults = recordsOf(swarm, "faultSeen").filter((record) => record.node === bad.address);
    const code = wrong === "nan" ? "malformedMessage" : "badNumbers";
    const expected = new Set([code, "staleResult"]); // a rival may have been faster
    assert(
      faults.some((record) => record.code === code) && faults.every((record) => expected.has(record.code)),
      JSON.stringify(faults.slice(0, 3)),
    );
  }
});

Deno.test("Faults: a lazy miner fails its replays and is banned, honest ones show no error at all", async () => {
  const config = configOf({ swarm: { replicas: 2, validators: 1 }, pipeline: { codec: "none" } });
  const swarm = new World({ config });
  await swarm.addMiners(4);
  const device = referenceHost();
  const lazy = await swarm.addMiner({
    device: {
      ...device,
      openStage: async (spec) => {
        const stage = await device.openStage(spec);
        stage.forward = (input) => Promise.resolve(input.type === "wire" ? input.wire.slice() : new Uint8Array());
        return stage;
      },
    },
  });
  await swarm.addMiner();
  swarm.addValidator();
  await swarm.runThrough();
  assertWhole(swarm);
  const verdicts = recordsOf(swarm, "verdict");
  for (const verdict of verdicts) {
    if (verdict.miner !== lazy.address) {
      assert(verdict.passed && verdict.innovationError < 1e-3, JSON.stringify(verdict));
    }
  }
  const exact = verdicts.filter(({ innovationError }) => innovationError === 0).length;
  assert(exact > verdicts.length / 3, `${exact} of ${verdicts.length}: those of the rounds' first steps are exact`);
  const failed = verdicts.filter((verdict) => !verdict.passed);
  assert(
    failed.length > 0 && failed.every((verdict) => verdict.miner === lazy.address && verdict.innovationError > 0.5),
  );
  assertEquals(recordsOf(swarm, "nodeLost").map(({ node }) => node as string), [lazy.address]);
});

Deno.test("Faults: a miner that must stop finishes the open step and leaves, without waiting for any deadline", async () => {
  let left = false;
  const events: string[] = [];
  const swarm = new World({
    config: configOf(),
    watch: (record, world) => {
      if (record.type === "nodeLost" || record.type === "stepClosed") events.push(record.type);
      if (left || record.type !== "taskFinished" || record.direction !== "backward") return;
      left = true;
      world.member(record.node).role.stop("laptop closes");
    },
  });
  await swarm.startAll();
  await swarm.run(); // time stands still
  assertWhole(swarm);
  const lost = recordsOf(swarm, "nodeLost");
  assertEquals(lost.map((record) => record.reason), ["laptop closes"]);
  assertEquals(events.slice(0, 2), ["stepClosed", "nodeLost"]);
});

Deno.test("Faults: a run without a validator ends without one", async () => {
  const swarm = new World({ config: configOf({ swarm: { replicas: 1, validators: 1 } }) });
  await swarm.addMiners(3);
  await swarm.runThrough();
  assertWhole(swarm);
});
