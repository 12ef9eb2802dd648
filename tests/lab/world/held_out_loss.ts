/** What a run's parameters are worth: held-out loss and the numbers themselves, by a validator of our own. */

import { assert, present } from "../../../core/assert.ts";
import { byteSegments } from "../../../cli/roles/segments.ts";
import type { ComputeHost } from "../../../cli/device/compute_host.ts";
import { ValidatorHost } from "../../../cli/node/validator_host.ts";
import type { World } from "./world.ts";

/** Of the newest merged round, nats per token. */
export async function heldOutLoss(
  { orchestrator: { state }, blobs, batches }: World,
  device: ComputeHost,
): Promise<number> {
  const { config, layersOfStages, sources: { round, stages: sources } } = state;
  const segments = byteSegments();
  const host = new ValidatorHost({ device, blobs, segments });
  const { inputs, targets } = batches.heldOut(Math.min(config.validate.heldOutSequences, batches.heldOutWindows));
  const hold = (ids: Uint32Array) => segments.hold(new Uint8Array(ids.buffer, ids.byteOffset, ids.byteLength));
  const work = { type: "evaluate" as const, round, sources, inputs: hold(inputs), targets: hold(targets) };
  const result = await host.perform({ config, layersOfStages, work });
  assert(result.type === "evaluate", "an evaluation was asked for");
  return result.loss;
}

/** Of each stage of the newest merged round. */
export function finalParameters({ orchestrator: { state }, blobs }: World): Promise<Float32Array[]> {
  return Promise.all(state.sources.stages.map(async (source) => {
    const ref = source.type === "blobs" ? source.parameters : null;
    const bytes = await blobs.get(present(ref, "every stage was merged"));
    return new Float32Array(bytes.slice().buffer);
  }));
}
