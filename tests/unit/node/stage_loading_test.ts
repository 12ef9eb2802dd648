/** Loading a stage: progress reports, work that is not repeated, and that large stages are accepted. */

import { assert, assertEquals, assertLess } from "@std/assert";
import { blobAccess } from "../../../cli/roles/blob_access.ts";
import { minerLine } from "../../../cli/node/node_lines.ts";
import { byteSegments } from "../../../cli/roles/segments.ts";
import { StageHost } from "../../../cli/node/stage_host.ts";
import { createPlainLines } from "../../../cli/observe/screen/plain.ts";
import { resolveConfig } from "../../../core/settings/parse.ts";
import { sizeNames } from "../../../core/config/size.ts";
import { nodeId, stageIndex } from "../../../core/ids.ts";
import type { MinerEffect, MinerRecord, MinerWork } from "../../../core/miner/event.ts";
import { miner } from "../../../core/miner/machine.ts";
import { openMiner } from "../../../core/miner/state.ts";
import { stageParameterLengths } from "../../../core/model/stages.ts";
import { parameterTable, stageSpecs } from "../../../core/model/spec.ts";
import { bytesOfFloats } from "../../../core/model/vector_bytes.ts";
import type { HubMessage, LoadingPart, ParameterSource } from "../../../core/protocol/message.ts";
import type { BlobStore } from "../../../net/blobs/blobs.ts";
import { MemoryBlobs } from "../../../net/blobs/blob_memory.ts";
import { defaultNetLimits } from "../../../net/limits.ts";
import { referenceHost } from "../../lab/world/devices.ts";
import { foldAt, openedView } from "../../support/sample_run.ts";
import { tinyConfig } from "../../support/tiny_model.ts";

const config = tinyConfig({ pipeline: { stages: 1 } });
const [spec] = stageSpecs(config, [3]);
const bytes = 4 * parameterTable(spec!).length;
const stage = stageIndex(0);

/** A host whose clock says five seconds more whenever it is read. */
function slowHost(store: BlobStore = new MemoryBlobs({ blobBytes: 1e8, capacityBytes: 1e9 })) {
  const said: [LoadingPart, number, number][] = [];
  let nowMs = 0;
  const host = new StageHost({
    device: referenceHost(),
    blobs: blobAccess(store),
    segments: byteSegments(),
    ownState: null,
    activationBytes: 0,
    nowMs: () => nowMs += 5_000,
    onLoading: (part, { done, total }) => said.push([part, done, total]),
  });
  const load = (source: ParameterSource): Promise<unknown> =>
    host.perform({ type: "loadStage", config, layersOfStages: [3], stage, round: 0, source, peers: [] });
  return { host, said, load };
}

Deno.test("Loading a stage: each part says how far it is, in bytes, and the same source is not made twice", async () => {
  const { said, load } = slowHost();
  const first = await load({ type: "initial" });
  assertEquals(said, [["making", bytes, bytes], ["placing", bytes, bytes]]);
  said.length = 0;
  assertEquals(await load({ type: "initial" }), first);
  assertEquals(said, [["placing", bytes, bytes]], "assigned again: only the device needs it again");
});

Deno.test("Loading a stage: a fetched stage counts parameters and momentum, and is fetched once", async () => {
  const store = new MemoryBlobs({ blobBytes: 1e8, capacityBytes: 1e9 });
  const parameters = await store.put(bytesOfFloats(new Float32Array(bytes / 4).fill(0.5)));
  const momentum = await store.put(bytesOfFloats(new Float32Array(bytes / 4).fill(0.25)));
  let opened = 0;
  const counted: BlobStore = {
    find: (hash) => store.find(hash),
    put: (source) => store.put(source),
    adoptFile: (path) => store.adoptFile(path),
    locate: () => store.locate(),
    get: (hash) => store.get(hash),
    leaves: (hash) => store.leaves(hash),
    open: (hash) => {
      opened += 1;
      return store.open(hash);
    },
  };
  const { said, load } = slowHost(counted);
  const source = { type: "blobs", parameters, momentum } as const;
  await load(source);
  const fetched = said.filter(([part]) => part === "fetching");
  assertEquals(fetched.at(-1), ["fetching", 2 * bytes, 2 * bytes]);
  assert(fetched.every(([, done], i) => i === 0 || done >= fetched[i - 1]![1]), "it never goes back");
  await load(source);
  assertEquals(opened, 2);
});

Deno.test("Loading a stage: a payload formed in parts is zero where nothing was learned", async () => {
  const store = new MemoryBlobs({ blobBytes: 1e8, capacityBytes: 1e9 });
  const { host, load } = slowHost(store);
  await load({ type: "initial" });
  const half = bytes / 8;
  const slices = [{ offset: 0, size: half }, { offset: half, size: half }];
  const formed = await host.perform({ type: "formPayload", slices } satisfies MinerWork);
  assert(formed.type === "formPayload");
  for (const { hash } of formed.slices) {
    assertEquals(await store.get(hash), new Uint8Array(4 * half), "nothing was learned");
  }
});

Deno.test("Loading a stage: a quick one says nothing", async () => {
  const said: LoadingPart[] = [];
  const host = new StageHost({
    device: referenceHost(),
    blobs: blobAccess(new MemoryBlobs({ blobBytes: 1e8, capacityBytes: 1e9 })),
    segments: byteSegments(),
    ownState: null,
    activationBytes: 0,
    nowMs: () => 0,
    onLoading: (part) => said.push(part),
  });
  const source = { type: "initial" } as const;
  await host.perform({ type: "loadStage", config, layersOfStages: [3], stage, round: 0, source, peers: [] });
  assertEquals(said, []);
});

Deno.test("Loading a stage: the miner tells its owner and the orchestrator, but not of a load that is not wanted any more", () => {
  const state = openMiner({ adapter: "none", previousStage: null });
  const hear = (message: HubMessage): MinerEffect[] =>
    miner.step(state, { type: "messageReceived", message, segments: [] }, 0);
  const progress = () =>
    miner.step(state, { type: "loadProgressed", part: "making", bytes: { done: 439, total: 1_000 } }, 0);
  hear({ type: "welcome", config, layersOfStages: [3], isKept: false, shows: [] });
  assertEquals(progress(), [], "nothing is being loaded");
  const assign = { type: "assign", assignment: 4, stage, round: 0, source: { type: "initial" }, peers: [] } as const;
  hear(assign);
  const record: MinerRecord = { type: "stageLoading", stage, round: 0, part: "making", bytes: 439, totalBytes: 1_000 };
  assertEquals(progress(), [
    { type: "record", record },
    { type: "send", message: { type: "loading", assignment: 4, part: "making", percent: 43 }, attachments: [] },
  ]);
  hear({ ...assign, assignment: 5 });
  assertEquals(progress(), [], "assignment 4 goes on in the background, for nothing");
});

Deno.test("Loading a stage: owner and orchestrator read how far it is", () => {
  const line = (part: LoadingPart) =>
    minerLine({ type: "stageLoading", stage, round: 2, part, bytes: 1.2e9, totalBytes: 2.6e9 });
  assertEquals(line("making"), "stage 0, round 2: making initial values 46 %");
  assertEquals(line("fetching"), "stage 0, round 2: fetching parameters 1.1 GiB of 2.4 GiB");
  assertEquals(line("placing"), "stage 0, round 2: placing parameters on the device 46 %");
  const view = openedView();
  const lines = createPlainLines();
  const tell = (percent: number, nowMs: number) => {
    const record = { type: "nodeLoading", node: nodeId("5Miner"), stage, part: "fetching", percent } as const;
    foldAt(view, record, nowMs);
    return lines.of(record, view, nowMs);
  };
  assertEquals(tell(12, 1_000).map((text) => text.trim()), [
    "0:01  load     5Miner on stage 0: fetching parameters 12 %",
  ]);
  assertEquals(tell(13, 2_000), [], "a line in five seconds");
  assertEquals(view.nodes[nodeId("5Miner")]?.loading, 13);
});

Deno.test("Loading a stage: a node takes and sends the largest stage of every size", () => {
  for (const size of sizeNames) {
    const resolved = resolveConfig({ size });
    assert(resolved.ok);
    const largest = 4 * Math.max(...stageParameterLengths(resolved.config));
    assertLess(largest, defaultNetLimits.blobBytes, size);
  }
});
