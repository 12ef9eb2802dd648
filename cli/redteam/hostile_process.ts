/** A miner's process that attacks the run it is in, by the name of its attack. */

import { assert } from "../../core/assert.ts";
import { MemoryHubBlobs } from "../lab/memory_hub_blobs.ts";
import type { MinerRoleOptions } from "../node/miner_role.ts";
import type { ComputeHost } from "../roles/compute_host.ts";
import { processAttackNames } from "./attack_names.ts";
import { attacks } from "./attacks.ts";
import { hostileMiner } from "./hostile_node.ts";

/** Its patches use no store, so the one they are given stays empty. */
export function hostileProcess(
  name: string,
  host: ComputeHost,
): Required<Pick<MinerRoleOptions, "device" | "machine">> {
  const known = processAttackNames.find((each) => each === name);
  assert(known !== undefined, `${name} is an attack that a process can make`);
  const hostile = attacks[known].miner?.({ stepsPerRound: 1 }) ?? {};
  return hostileMiner({ hostile, host, store: new MemoryHubBlobs(), isOn: () => true });
}
