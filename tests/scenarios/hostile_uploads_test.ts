/** A miner's process that uploads false payloads: an honest miner but for what it stores while it forms one. */

import { assert, assertEquals } from "@std/assert";
import { MemoryHubBlobs } from "../lab/world/memory_hub_blobs.ts";
import { uploadsPayload } from "../lab/redteam/hostile_uploads.ts";
import { times } from "../lab/redteam/hostile_wires.ts";
import { floatsOf } from "../../core/model/vector_bytes.ts";
import { configOf, patience, recordsOf } from "../support/swarm/whole_run.ts";
import { LocalSwarm } from "../support/swarm/local_swarm.ts";

/** One replica of each stage trains one round; the first miner's uploads, as the store has them. */
async function uploadsOf({ isHostile }: { isHostile: boolean }) {
  const config = configOf({
    deterministic: true,
    pipeline: { codec: "none" },
    train: { steps: 3, stepsPerRound: 3 },
    swarm: { replicas: 1 },
  });
  const swarm = new LocalSwarm({ config });
  const stored: Uint8Array[] = [];
  const put = (bytes: Uint8Array) => {
    stored.push(bytes.slice());
    return swarm.blobs.put(bytes);
  };
  const store = { put, get: (ref: Parameters<MemoryHubBlobs["get"]>[0]) => swarm.blobs.get(ref) };
  const { machine, blobs } = isHostile ? uploadsPayload(store, times(-1)) : { machine: null, blobs: store };
  const whole = Object.assign(new MemoryHubBlobs(), { put: blobs.put, get: blobs.get });
  await swarm.addMiner({ blobs: whole, ...(machine === null ? {} : { machine }) });
  for (let i = 1; i < config.pipeline.stages; i++) await swarm.addMiner();
  await swarm.runThrough(patience);
  assertEquals(recordsOf(swarm, "roundMerged").length, 1);
  assertEquals(recordsOf(swarm, "blamed"), [], "what it signed is what it stored");
  return stored;
}

Deno.test("Hostile uploads: the payload that is stored, committed and signed is the honest one with the wrong sign", async () => {
  const honest = await uploadsOf({ isHostile: false });
  const hostile = await uploadsOf({ isHostile: true });
  assertEquals(hostile.map(({ length }) => length), honest.map(({ length }) => length));
  const [payload, turned] = [honest[0], hostile[0]].map((bytes) => floatsOf(bytes!.slice())) as [
    Float32Array,
    Float32Array,
  ];
  assert(payload.some((value) => value !== 0));
  assertEquals(turned.map((value) => value === 0 ? 0 : -value), payload.map((value) => value === 0 ? 0 : value));
});
