/** A newcomer whose stage takes longer to load than rounds take: it keeps its assignment and applies the merges it missed. */

import { assert, assertEquals } from "@std/assert";
import type { BlobRef } from "../../core/ids.ts";
import type { Notice } from "../../core/protocol/notice.ts";
import type { RunRecord } from "../../core/protocol/record.ts";
import type { MinerRecord } from "../../core/miner/event.ts";
import type { BlobAccess } from "../../cli/roles/blob_access.ts";
import { World } from "../lab/world/world.ts";
import { tinyConfig } from "../support/tiny_model.ts";

/** A store whose reads of whole stages wait until `open` is called: a link on which they take as long. */
function slowReads(store: BlobAccess, isSlow: (ref: BlobRef) => boolean): BlobAccess & { open(): void } {
  const opened = Promise.withResolvers<void>();
  return {
    open: () => opened.resolve(),
    put: (bytes) => store.put(bytes),
    get: async (ref) => {
      if (isSlow(ref)) await opened.promise;
      return await store.get(ref);
    },
  };
}

type Of<Type extends RunRecord["type"]> = Extract<RunRecord, { type: Type }>;

async function runWithNewcomer({ joinsInRound, loadsUntilRound, rounds }: {
  joinsInRound: number;
  loadsUntilRound: number;
  rounds: number;
}) {
  const config = tinyConfig({
    train: { steps: rounds, stepsPerRound: 1, microbatchesPerStep: 3, sequencesPerMicrobatch: 1 },
    model: { layers: 2 },
    pipeline: { stages: 2 },
    swarm: { replicas: 2, validators: 0 },
    outer: { payload: "int8", momentum: 0.5 },
  });
  const told: MinerRecord[] = [];
  let newcomer: { address: string; reads: ReturnType<typeof slowReads> } | null = null;
  const swarm = new World({
    config,
    watch: (record) => {
      if (record.type === "checkpointWritten" && record.round === joinsInRound) void join();
      if (record.type === "checkpointWritten" && record.round === loadsUntilRound) newcomer?.reads.open();
    },
  });
  const isStage = ({ bytes }: BlobRef) => bytes >= 4 * Math.min(...swarm.orchestrator.state.stageFloats);
  async function join() {
    const reads = slowReads(swarm.blobs, isStage);
    const { address } = await swarm.addMiner({ blobs: reads, onRecord: (record) => told.push(record) });
    newcomer = { address, reads };
  }
  await swarm.startAll();
  await swarm.runThrough();
  const { address } = newcomer!;
  const records = swarm.records.all;
  const of = <Type extends RunRecord["type"]>(type: Type) =>
    records.filter((record): record is Of<Type> => record.type === type);
  return { swarm, address, told, of };
}

Deno.test("Catching up: a newcomer that loads for three rounds applies their merges and works", async () => {
  const { address, told, of } = await runWithNewcomer({ joinsInRound: 1, loadsUntilRound: 4, rounds: 8 });
  const mine = <T extends { node: string }>(records: T[]) => records.filter(({ node }) => node === address);
  assertEquals(mine(of("nodeAssigned")).map(({ round }) => round), [1], "it keeps its assignment");
  const [ready] = mine(of("nodeReady"));
  assert(ready !== undefined && ready.round >= 4, `ready in round ${ready?.round}`);
  assertEquals(ready.optimizer, "empty", "both sides say that its optimizer has no state of trained parameters");
  assert(told.some((record) => record.type === "stageLoaded" && record.optimizer === "empty"));
  const others = of("nodeReady").filter(({ node }) => node !== address);
  assert(others.every(({ optimizer }) => optimizer === undefined), "initial parameters need none");
  const merges = of("roundMerged");
  assert(merges.every(({ stages }) => stages.every(({ agree }) => agree)), "everybody holds the same parameters");
  const last = merges.at(-1)!.stages.find(({ stage }) => stage === ready.stage)!;
  assertEquals(last.replicas, 3);
  const notices = told.filter((record): record is Notice => record.type === "notice");
  assertEquals(notices.map((notice) => notice.about), ["behind"]);
  assertEquals(of("faultSeen").length, 0);
});

Deno.test("Catching up: a newcomer that loads for more rounds than merges are kept for is told that its link is too slow", async () => {
  const { address, told, of } = await runWithNewcomer({ joinsInRound: 1, loadsUntilRound: 11, rounds: 12 });
  const rounds = of("nodeAssigned").filter(({ node }) => node === address).map(({ round }) => round);
  assertEquals(rounds, [1, 10], "eight merges were kept");
  const notices = told.filter((record): record is Notice => record.type === "notice");
  assertEquals(notices[0], { type: "notice", about: "behind", merges: 8, startsAnew: true });
  assert(of("warning").some(({ text }) => text.includes("It needs a faster link, or the run longer rounds")));
});
