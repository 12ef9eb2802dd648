/** A miner's process that attacks the run it is in, by the name of its attack. */

import { assert } from "../../../core/assert.ts";
import { MemoryHubBlobs } from "../world/memory_hub_blobs.ts";
import type { MinerRoleOptions } from "../../../cli/node/miner_role.ts";
import type { BlobAccess } from "../../../cli/roles/blob_access.ts";
import type { ComputeHost } from "../../../cli/device/compute_host.ts";
import { processAttackNames } from "./attack_names.ts";
import { attacks } from "./attacks.ts";
import { hostileMiner } from "./hostile_node.ts";
import { uploadsPayload } from "./hostile_uploads.ts";
import { times } from "./hostile_wires.ts";

type Own = Required<Pick<MinerRoleOptions, "device" | "machine">> & Partial<Pick<MinerRoleOptions, "blobs">>;

/** What a process has instead of an honest one's. Patches of messages get a store that stays empty: uploads are patched here. */
export function hostileProcess(name: string, { device, blobs }: { device: ComputeHost; blobs: BlobAccess }): Own {
  const known = processAttackNames.find((each) => each === name);
  assert(known !== undefined, `${name} is an attack that a process can make`);
  if (known === "flip-payload") return { device, ...uploadsPayload(blobs, times(-1)) };
  const hostile = attacks[known].miner?.({ stepsPerRound: 1 }) ?? {};
  return hostileMiner({ hostile, host: device, store: new MemoryHubBlobs(), isOn: () => true });
}
