/**
 * Checks that a device computes what the processor does, at the shapes of its stage: audits would ban the owner of a
 * wrong device.
 */

import type { StageSpec } from "../../core/model/spec.ts";
import { checkedStage } from "../../gpu/trace/checked_stage.ts";
import type { Departure } from "../../gpu/trace/operation_check.ts";
import { type ComputeWorker, isTooLarge } from "../../gpu/worker_client.ts";
import { UserError } from "../program/errors.ts";
import { decimal } from "../terminal/text/format.ts";

export class UnusableDeviceError extends UserError {
  override name = "UnusableDeviceError";
}

export const useProcessor =
  "Compute on the processor: --device cpu; or update the GPU's driver and check it: iota doctor";

export class DeviceCheck {
  readonly #checked = new Set<string>();

  async pass(worker: ComputeWorker, spec: StageSpec): Promise<void> {
    if (worker.adapter.device !== "webgpu") return;
    const stage = checkedStage(spec);
    const shapes = JSON.stringify({ ...stage, index: 0, firstLayer: 0 });
    if (this.#checked.has(shapes)) return;
    const found = await worker.checkOperations([stage]).catch((error) => {
      if (isTooLarge(error)) return null; // without room for a comparison, the stage itself decides
      throw error;
    });
    if (found !== null && !found.agrees) throw wrongDevice(worker, found.worst);
    this.#checked.add(shapes);
  }
}

function wrongDevice({ adapter: { name } }: ComputeWorker, worst: Departure): UnusableDeviceError {
  return new UnusableDeviceError(
    `${name} computes stage ${worst.stage} wrongly: ${departureText(worst)}. ` +
      "The stage is not started, because audits would take its results for lies",
    { next: useProcessor },
  );
}

export function departureText({ stage, operation, memory, difference, firstRow, lastRow }: Departure): string {
  const off = Number.isFinite(difference) ? `is off by ${decimal(difference)}` : "is not a number";
  return `${operation} of stage ${stage} (${memory}) ${off}, most in rows ${firstRow} to ${lastRow}`;
}
