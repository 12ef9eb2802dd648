/**
 * A miner's process that uploads false payloads: what it stores while it forms one is spoiled on the way, so the ref that it gets
 * back, commits and signs is that of the false bytes.
 *
 * Of payloads of float32 only; others stay as they are. In a swarm of one process payloads are exchanged in its store instead
 * (hostile_merges.ts).
 */

import type { MinerEffect, MinerEvent } from "../../../core/miner/event.ts";
import { miner } from "../../../core/miner/machine.ts";
import type { MinerState } from "../../../core/miner/state.ts";
import { bytesOfFloats, floatsOf, vectorBytes } from "../../../core/model/vector_bytes.ts";
import type { Machine } from "../../../core/protocol/machine.ts";
import type { BlobAccess } from "../../../cli/roles/blob_access.ts";
import type { Spoil } from "./hostile_wires.ts";

export interface HostileUploads {
  readonly blobs: BlobAccess;
  readonly machine: Machine<MinerState, MinerEvent, MinerEffect>;
}

export function uploadsPayload(blobs: BlobAccess, spoil: Spoil): HostileUploads {
  let forming: ReadonlySet<number> = new Set(); // lengths of the slices being formed, in bytes
  return {
    blobs: {
      get: (ref, from) => blobs.get(ref, from),
      put: (bytes) => blobs.put(forming.has(bytes.length) ? spoiledFloats(bytes, spoil) : bytes),
    },
    machine: {
      ...miner,
      step(state, event, nowMs) {
        if (event.type === "workDone" && event.result.type === "formPayload") forming = new Set();
        const effects = miner.step(state, event, nowMs);
        for (const effect of effects) {
          if (effect.type !== "perform" || effect.work.type !== "formPayload") continue;
          forming = new Set(effect.work.slices.map(({ size }) => vectorBytes(size)));
        }
        return effects;
      },
    },
  };
}

function spoiledFloats(bytes: Uint8Array, spoil: Spoil): Uint8Array {
  const values = floatsOf(bytes.slice());
  spoil(values);
  return bytesOfFloats(values);
}
