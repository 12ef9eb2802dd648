/** Members that fill the orchestrator's store: each has its share, the others go on storing, and the run ends whole. */

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { mostStates, storeAllowance } from "../../core/update/payload/allowance.ts";
import { payloadCodecs } from "../../core/update/payload/payload_codecs.ts";
import { splitLayers } from "../../core/model/stages.ts";
import { parameterTable, stageSpecs } from "../../core/model/spec.ts";
import type { RunRecord } from "../../core/protocol/record.ts";
import { BlobError } from "../../net/blobs/blobs.ts";
import type { HttpBlobs } from "../../net/blobs/blob_http.ts";
import { assertProblem } from "../conformance/blobs_suite.ts";
import { withScratchFolder } from "../support/scratch_folder.ts";
import { signerOf, StoredSwarm } from "../support/swarm/stored_swarm.ts";
import { varied } from "../support/net/varied_bytes.ts";
import { isWhole, slowTest } from "../support/whole.ts";
import { assertWhole, configOf, recordsOf } from "../support/swarm/whole_run.ts";

const config = configOf({ train: { steps: 6, stepsPerRound: 2 } });
const shares = { codec: payloadCodecs.float32, states: mostStates(config.validate) };
const modelFloats = stageSpecs(config, splitLayers(config)).reduce((sum, spec) => sum + parameterTable(spec).length, 0);
const mostJunk = 4096; // of blobs, far above any share

/** Stores until it is refused; returns what it could store. */
async function flood(client: HttpBlobs, blobBytes: number): Promise<{ blobs: number; bytes: number; end: BlobError }> {
  for (let blobs = 0; blobs < mostJunk; blobs++) {
    try {
      await client.put(varied(blobBytes, 1_000 + blobs));
    } catch (error) {
      assert(error instanceof BlobError, String(error));
      return { blobs, bytes: blobs * blobBytes, end: error };
    }
  }
  throw new Error(`nobody refused ${mostJunk} blobs of ${blobBytes} bytes`);
}

const isStep = (record: RunRecord, step: number) => record.type === "stepClosed" && record.step === step;

for (const blobBytes of isWhole ? [64, 20_000] : [20_000]) {
  Deno.test(`Quota: one miner stores junk of ${blobBytes} bytes until it is refused; the others go on, and the run ends whole`, () =>
    withScratchFolder(async (folder) => {
      let attack: Promise<Awaited<ReturnType<typeof flood>>> | null = null;
      const world: StoredSwarm = await StoredSwarm.open({
        folder,
        config,
        hold: () => attack, // the junk comes before anything of the merge
        watch: (record) => {
          if (!isStep(record, 1)) return;
          attack = flood(world.client(signerOf(world.swarm.members[0]!.address)), blobBytes);
        },
      });
      const { swarm } = world;
      await swarm.startAll();
      await world.run();
      assert(attack !== null);
      const { blobs, bytes, end } = await attack as Awaited<ReturnType<typeof flood>>;
      const allowance = storeAllowance(swarm.orchestrator.state.stageFloats, shares);
      assertEquals(end.code, "noSpace");
      assertStringIncludes(end.message, "must be at most");
      assert(bytes <= allowance.bytes && blobs <= allowance.blobs, `${blobs} blobs of ${bytes} bytes`);
      assert(bytes > allowance.bytes / 2 || blobs > allowance.blobs / 2, "an honest round would not have been refused");
      assertEquals([swarm.orchestrator.state.phase, swarm.orchestrator.state.step], ["finished", 6]);
      const faults = recordsOf(swarm, "faultSeen").filter(({ code }) => code === "limitExceeded");
      const [attacker] = swarm.members;
      assert(faults.length > 0 && faults.every(({ node }) => node === attacker!.address), "the offender is named");
      assertEquals(recordsOf(swarm, "nodeLost").filter(({ node }) => node !== attacker!.address), []);
      assertEquals(world.errors, []);
    }));
}

slowTest(
  "Quota: a blob stops counting when the run needs or deletes it, so honest miners never hit the quota",
  () =>
    withScratchFolder(async (folder) => {
      const world = await StoredSwarm.open({ folder, config: configOf({ train: { steps: 24, stepsPerRound: 1 } }) });
      const { swarm, members } = world;
      await swarm.startAll();
      await world.run();
      assertWhole(swarm, 24);
      assertEquals(recordsOf(swarm, "faultSeen"), []);
      const smallest = 4 * Math.min(...swarm.orchestrator.state.stageFloats);
      for (const { address } of swarm.members) {
        const used = members.quota.usage(signerOf(address).address).bytes;
        assert(used >= 0 && used < smallest, `${used} are still charged, a whole stage has ${smallest}`);
      }
    }),
);

Deno.test("Quota: refusals again and again become one fault a second, however many requests there are", () =>
  withScratchFolder(async (folder) => {
    const refusals: string[] = [];
    const world: StoredSwarm = await StoredSwarm.open({ folder, config, hold: () => new Promise(() => {}) }); // its training does not end;
    const { swarm } = world;
    await swarm.startAll();
    await world.swarm.quiet();
    const { address } = swarm.members[0]!;
    const client = world.client(signerOf(address));
    const { blobBytes } = storeAllowance(swarm.orchestrator.state.stageFloats, shares);
    const count = () => recordsOf(swarm, "faultSeen").filter(({ code }) => code === "limitExceeded").length;
    for (let seed = 0; seed < 50; seed++) {
      refusals.push(await assertProblem(() => client.put(varied(blobBytes + 4, seed)), "tooLarge"));
    }
    assertEquals([refusals.length, count()], [50, 1]);
    swarm.clock.advance(1_000);
    await assertProblem(() => client.put(varied(blobBytes + 4, 99)), "tooLarge");
    assertEquals(count(), 2);
    swarm.orchestrator.stop("enough");
    await world.run();
  }));

Deno.test("Quota: only a node with a stage may store; a validator is refused before any byte is read", () =>
  withScratchFolder(async (folder) => {
    const own = configOf({ train: { steps: 2, stepsPerRound: 2 }, swarm: { validators: 1, replicas: 1 } });
    const training = Promise.withResolvers<void>(); // begins when the validator was refused
    const world = await StoredSwarm.open({ folder, config: own, hold: () => training.promise });
    const { swarm } = world;
    await swarm.startAll();
    await world.swarm.quiet();
    const validator = swarm.members.find(({ address }) =>
      swarm.orchestrator.state.validators.has(signerOf(address).address)
    );
    const client = world.client(signerOf(validator!.address));
    const text = await assertProblem(() => client.put(varied(1_000, 1)), "refused");
    assertStringIncludes(text, "only a miner with a stage may store blobs");
    const { address } = signerOf(validator!.address);
    assertEquals(world.members.quota.usage(address).bytes, 0, "nothing of the validator's is kept or on its way");
    assertEquals(await Array.fromAsync(Deno.readDir(`${folder}/blobs/incoming`)), []);
    training.resolve();
    await world.run();
    assertWhole(swarm, 2);
  }));

Deno.test("Quota: a members' share in which no payload has room halts the run, which says so; the orchestrator has a reserve", () =>
  withScratchFolder(async (folder) => {
    let attack: Promise<unknown> | null = null;
    const memberBytes = 64_000;
    const ownBytes = 24 * 4 * modelFloats / config.pipeline.stages; // far less than six miners' shares
    const world: StoredSwarm = await StoredSwarm.open({
      folder,
      config,
      hold: () => attack,
      memberBytes,
      ownBytes,
      watch: (record) => {
        if (!isStep(record, 1) || attack !== null) return;
        const clients = world.swarm.members.map(({ address }) => world.client(signerOf(address)));
        attack = Promise.all(clients.map((client) => flood(client, 8_000)));
      },
    });
    const { swarm } = world;
    await swarm.startAll();
    const { text } = await swarm.records.next("trainingHalted");
    await attack;
    assert(text.includes("was answered with HTTP 507"), text);
    assertEquals([swarm.records.count("roundMerged"), swarm.records.count("blamed")], [0, 0]);
    for (let turn = 0; turn < 100; turn++) await swarm.quiet(); // stages are loaded again, and the store is swept
    const { bytes } = world.store.usage();
    assert(bytes <= memberBytes + ownBytes, `${bytes} are stored`);
  }));
