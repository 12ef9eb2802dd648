/**
 * What a miner keeps of its stage: on disk across a restart, the residual of its payloads from merge to merge, and no file that is
 * another's, torn or of an earlier format.
 */

import { assert, assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import { blobAccess } from "../../../cli/roles/blob_access.ts";
import { byteSegments } from "../../../cli/roles/segments.ts";
import { keptVectors, Residual } from "../../../cli/node/own_state.ts";
import { OwnStateFolder } from "../../../cli/node/own_state_folder.ts";
import { StageHost } from "../../../cli/node/stage_host.ts";
import type { RunConfig } from "../../../core/config/config.ts";
import { type BlobRef, stageIndex } from "../../../core/ids.ts";
import type { MinerResult } from "../../../core/miner/event.ts";
import { parameterTable, stageSpecs } from "../../../core/model/spec.ts";
import type { ParameterSource } from "../../../core/protocol/message.ts";
import type { StageCompute } from "../../../gpu/compute.ts";
import { createReferenceStage } from "../../lab/reference/stage.ts";
import { refOf } from "../../../net/blob_hash.ts";
import { MemoryBlobs } from "../../../net/blobs/blob_memory.ts";
import { withScratchFolder } from "../../support/scratch_folder.ts";
import { referenceHost } from "../../lab/world/devices.ts";
import { tinyConfig } from "../../support/tiny_model.ts";
import { topHalfTest } from "../../support/top_half_codec.ts";

const config = tinyConfig({ pipeline: { stages: 1 }, outer: { learningRate: 1, momentum: 0 } });
const table = parameterTable(stageSpecs(config, [3])[0]!);
const stage = stageIndex(0);
const layout = [{ offset: 0, size: 128 }, { offset: 128, size: table.length - 128 }];
const parameters = refOf(new Uint8Array(3));

type Result<Type extends MinerResult["type"]> = Extract<MinerResult, { type: Type }>;

/** A miner's life: its host, and its device for changing parameters as training would. */
class Life {
  readonly host: StageHost;
  readonly #config: RunConfig;
  device: StageCompute | null = null;
  round = 0;

  constructor(world: { store: MemoryBlobs; folder: string; run?: string; config?: RunConfig }) {
    this.#config = world.config ?? config;
    this.host = new StageHost({
      device: {
        ...referenceHost(),
        openStage: (spec, options) => Promise.resolve(this.device = createReferenceStage(spec, options)),
      },
      blobs: blobAccess(world.store),
      segments: byteSegments(),
      ownState: new OwnStateFolder(world.folder, {
        run: () => world.run ?? "a",
        warn: (text) => assertEquals(text, ""),
      }),
      activationBytes: 0,
      nowMs: () => 0,
    });
  }

  async load(source: ParameterSource, round = 0): Promise<Result<"loadStage">> {
    this.round = round;
    const work = { type: "loadStage", layersOfStages: [3], stage, round, source, peers: [] } as const;
    return await this.host.perform({ ...work, config: this.#config }) as Result<"loadStage">;
  }

  async train(): Promise<void> {
    const values = await this.device!.readParameters();
    await this.device!.loadParameters(values.map((value, i) => value + Math.sin(i) / 1000));
  }

  async payload(): Promise<readonly BlobRef[]> {
    return (await this.host.perform({ type: "formPayload", slices: layout }) as Result<"formPayload">).slices;
  }

  /** With no other contributor. */
  async merge(payload: readonly BlobRef[]): Promise<BlobRef> {
    const slices: BlobRef[] = [];
    for (const ref of payload) {
      const inputs = [{ payload: ref, weight: 1, scale: 1 }];
      slices.push((await this.host.perform({ type: "reduceSlice", inputs }) as Result<"reduceSlice">).result);
    }
    const work = { type: "applyMerge", round: ++this.round, slices } as const;
    return (await this.host.perform(work) as Result<"applyMerge">).parameters;
  }
}

const storeOf = () => new MemoryBlobs({ blobBytes: 1e8, capacityBytes: 1e9 });

topHalfTest(
  "Own state: a payload asked for twice is the same, and what it left out comes with the next round's",
  () =>
    withScratchFolder(async (folder) => {
      const life = new Life({ store: storeOf(), folder });
      await life.load({ type: "initial" });
      await life.train();
      const first = await life.payload();
      assertEquals(await life.payload(), first);
      await life.merge(first);
      const rest = await life.payload(); // nothing was learned since: only what was left out
      assertNotEquals(rest, first);
      for (const [i, { bytes }] of rest.entries()) assert(bytes > 8 && bytes <= first[i]!.bytes, "the other half");
      await life.merge(rest);
      assertEquals((await life.payload()).map(({ bytes }) => bytes), [8, 8], "nothing is left");
    }),
);

topHalfTest(
  "Own state: a restarted miner goes on with its optimizer and its residual, one that loads anew begins without",
  () =>
    withScratchFolder(async (folder) => {
      const store = storeOf();
      const life = new Life({ store, folder });
      await life.load({ type: "initial" });
      await life.device!.step({ ...config.train, gradientScale: 1 });
      await life.train();
      const merged = await life.merge(await life.payload());
      const expected = await life.payload();
      await store.put(new Uint8Array((await life.device!.readParameters()).buffer));
      const source: ParameterSource = { type: "blobs", parameters: merged, momentum: null };

      const restarted = new Life({ store, folder });
      assertEquals((await restarted.load(source, 1)).localSteps, 1);
      assertEquals(await restarted.device!.readOptimizer(), await life.device!.readOptimizer());
      assertEquals(await restarted.payload(), expected);

      assertEquals((await life.load(source, 1)).localSteps, 1);
      assertEquals(await life.payload(), expected, "the same round's start: it has missed nothing");
      await life.load({ type: "initial" }, 2);
      assertEquals((await life.payload()).map(({ bytes }) => bytes), [8, 8], "another start");
    }),
);

topHalfTest(
  "Own state: a restarted miner goes on with Muon's momentum; a run with AdamW does not take it up",
  () =>
    withScratchFolder(async (folder) => {
      const store = storeOf();
      const withMuon: RunConfig = { ...config, train: { ...config.train, optimizer: "muon" } };
      const life = new Life({ store, folder, config: withMuon });
      await life.load({ type: "initial" });
      const tokens = new Uint32Array(2 * config.model.contextLength).map((_, i) => i % 7);
      await life.device!.turnaround({ type: "tokens", tokens }, tokens);
      await life.device!.step({ ...config.train, gradientScale: 1 });
      const merged = await life.merge(await life.payload());
      await store.put(new Uint8Array((await life.device!.readParameters()).buffer));
      const source: ParameterSource = { type: "blobs", parameters: merged, momentum: null };

      const restarted = new Life({ store, folder, config: withMuon });
      assertEquals((await restarted.load(source, 1)).localSteps, 1);
      const state = await restarted.device!.readOptimizer();
      assertEquals(Object.keys(state.vectors), ["momentum", "firstMoments", "secondMoments"]);
      assert(state.vectors.momentum!.some((value) => value !== 0));
      assertEquals(state, await life.device!.readOptimizer());
      assertEquals((await new Life({ store, folder }).load(source, 1)).localSteps, 0);
    }),
);

topHalfTest(
  "Own state: a miner killed in a merge goes on with the moments of the merge before, without a residual",
  () =>
    withScratchFolder(async (folder) => {
      const store = storeOf();
      const life = new Life({ store, folder });
      await life.load({ type: "initial" });
      await life.device!.step({ ...config.train, gradientScale: 1 });
      await life.train();
      await life.merge(await life.payload());
      const saved = await life.device!.readOptimizer();
      await life.device!.step({ ...config.train, gradientScale: 1 });
      const others = await store.put(new Uint8Array((await life.device!.readParameters()).buffer)); // merged without it
      const source: ParameterSource = { type: "blobs", parameters: others, momentum: null };

      const restarted = new Life({ store, folder });
      assertEquals((await restarted.load(source, 2)).localSteps, 1);
      assertEquals(await restarted.device!.readOptimizer(), saved);
      assertEquals((await restarted.payload()).map(({ bytes }) => bytes), [8, 8], "nothing is left of a payload");

      const elsewhere = new Life({ store, folder, run: "b" });
      assertEquals((await elsewhere.load(source, 2)).localSteps, 0, "another run's state is not used");

      const goneBack = new Life({ store, folder });
      assertEquals(
        (await goneBack.load(source, 1)).localSteps,
        0,
        "a later round's state is not used",
      );
    }),
);

topHalfTest(
  "Own state: a file of another stage, parameters or vectors, a torn one and an old one are as good as none",
  () =>
    withScratchFolder(async (scratch) => {
      const warnings: string[] = [];
      const folder = new OwnStateFolder(scratch, { run: () => "a", warn: (text) => warnings.push(text) });
      const vectors = keptVectors(config, table);
      assertEquals(vectors.map(([name]) => name), ["firstMoments", "secondMoments", "residual of topHalf 1"]);
      const place = { stage, round: 3, parameters, vectors };
      assertEquals([await folder.load(place), await folder.stage()], [null, null]);
      const state = {
        vectors: new Map(vectors.map(([name, values], i) => [name, new Float32Array(values).fill(i + 0.5)])),
        steps: 7,
      };
      await folder.save({ ...place, state });
      assertEquals(await folder.load(place), { ...state, isEarlier: false });
      assertEquals(
        await folder.load({ ...place, round: 9 }),
        { ...state, isEarlier: false },
        "a round that begins anew has another number",
      );
      const after = { ...place, parameters: refOf(new Uint8Array(4)), round: 4 };
      assertEquals(await folder.load(after), { ...state, isEarlier: true }, "killed in a merge, before it could save");
      assertEquals(await folder.stage(), stage);
      const others = [
        { ...place, stage: stageIndex(1) },
        { ...place, parameters: refOf(new Uint8Array(4)) },
        { ...place, vectors: vectors.slice(0, 2) },
        { ...place, vectors: vectors.map(([name, values]) => [name, values - 64] as const) },
        { ...place, vectors: [["momentum", table.length] as const, ...vectors.slice(1)] },
      ];
      for (const other of others) assert(await folder.load(other) === null);
      assertEquals(warnings, [], "a state that is not needed is not damage");
      const path = `${scratch}/optimizer.bin`;
      const whole = await Deno.readFile(path);
      const spoilt = whole.slice();
      spoilt[spoilt.length - 1]! ^= 1;
      const old = new TextEncoder().encode(
        JSON.stringify({ format: "iota-moments-2", stage: 0, round: 3 }).padEnd(4096),
      );
      for (
        const bytes of [spoilt, whole.subarray(0, whole.length - 4), whole.subarray(0, 100), new Uint8Array(9_000), old]
      ) {
        await Deno.writeFile(path, bytes);
        assert(await folder.load(place) === null);
        assertMatch(warnings.pop() ?? "", /^The optimizer state begins empty: .*optimizer\.bin is damaged/);
      }
      assertEquals(await folder.stage(), null, "an earlier format names no stage");
    }),
);

topHalfTest(
  "Own state: no byte of a file's head can change without the whole file counting as none",
  () =>
    withScratchFolder(async (scratch) => {
      const warnings: string[] = [];
      const folder = new OwnStateFolder(scratch, { run: () => "a", warn: (text) => warnings.push(text) });
      const vectors = [["m", 4]] as const;
      const place = { stage: stageIndex(1), round: 2, parameters, vectors };
      await folder.save({ ...place, state: { vectors: new Map([["m", new Float32Array(4).fill(1)]]), steps: 12 } });
      const path = `${scratch}/optimizer.bin`;
      const whole = await Deno.readFile(path);
      const places = 400; // beyond the header's last field
      for (let at = 0; at < 2 * places; at++) {
        const spoilt = whole.slice();
        spoilt[at >> 1]! ^= 1 + (at & 1); // the lowest bits make one digit another
        await Deno.writeFile(path, spoilt);
        assertEquals([await folder.stage(), await folder.load(place)], [null, null], `byte ${at >> 1}`);
      }
      assertEquals(warnings.length, 2 * places);
      const text = new TextDecoder().decode(whole.subarray(64, 4096));
      const { steps: _, ...headless } = JSON.parse(text);
      for (const header of [headless, { ...headless, steps: -1 }, { ...headless, steps: 1.5 }, null, []]) {
        const other = new TextEncoder().encode(JSON.stringify(header).padEnd(text.length));
        const head = new TextEncoder().encode(refOf(other).hash);
        await Deno.writeFile(path, new Uint8Array([...head, ...other, ...whole.subarray(4096)]));
        assertEquals([await folder.stage(), await folder.load(place)], [null, null], JSON.stringify(header));
      }
    }),
);

topHalfTest("Residual: what a payload leaves out counts from the merge on, and not when nothing was merged", () => {
  const residual = new Residual();
  residual.settle();
  assertEquals(residual.settled, null);
  residual.open(2).set([1, 2]);
  residual.open(2).set([3, 4]);
  assertEquals(residual.settled, null);
  residual.settle();
  assertEquals(residual.settled, Float32Array.of(3, 4));
  assertEquals(residual.open(2), Float32Array.of(3, 4));
  residual.settle();
  assertEquals(residual.settled, Float32Array.of(3, 4));
});
