/** A miner's process that uploads false payloads: an honest miner but for what it stores while it forms one. */

import { assert, assertEquals } from "@std/assert";
import type { BlobAccess } from "../../cli/roles/blob_access.ts";
import { uploadsPayload } from "../lab/redteam/hostile_uploads.ts";
import { times } from "../lab/redteam/hostile_wires.ts";
import { floatsOf } from "../../core/model/vector_bytes.ts";
import { configOf, recordsOf } from "../support/swarm/whole_run.ts";
import { World } from "../lab/world/world.ts";

/** One replica of each stage trains one round; the first miner's uploads, as the store has them. */
async function uploadsOf({ isHostile }: { isHostile: boolean }) {
  const config = configOf({
    deterministic: true,
    pipeline: { codec: "none" },
    train: { steps: 3, stepsPerRound: 3 },
    swarm: { replicas: 1 },
  });
  const swarm = new World({ config });
  const stored: Uint8Array[] = [];
  const store: BlobAccess = {
    put: (bytes) => {
      stored.push(bytes.slice());
      return swarm.blobs.put(bytes);
    },
    get: (ref) => swarm.blobs.get(ref),
  };
  const { machine, blobs } = isHostile ? uploadsPayload(store, times(-1)) : { machine: null, blobs: store };
  await swarm.addMiner({ blobs, ...(machine === null ? {} : { machine }) });
  await swarm.addMiners(config.pipeline.stages - 1);
  await swarm.runThrough();
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
