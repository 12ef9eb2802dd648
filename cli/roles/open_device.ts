/**
 * Opens the device that `--device` names, or says what a person can do if there is none.
 */

import { ComputeError, type ComputeWorker, openComputeWorker } from "../../gpu/worker_client.ts";
import { type DeviceChoice, deviceChoices } from "../../gpu/worker_protocol.ts";
import { UserError } from "../output/errors.ts";

/** `isShared`: several nodes will compute on this machine. */
export async function openDevice(
  choice: string | undefined,
  { isShared = false }: { isShared?: boolean } = {},
): Promise<ComputeWorker> {
  const device = deviceChoices.find((name) => name === choice) ?? "auto";
  try {
    return await openComputeWorker({ device, isShared });
  } catch (error) {
    if (error instanceof ComputeError && error.kind === "NoAdapterError") {
      throw new UserError(error.message, {
        next: "Compute on the processor instead: --device cpu; for a GPU, install its Vulkan driver; for a software " +
          "driver on Debian or Ubuntu: apt-get install mesa-vulkan-drivers libvulkan1",
        cause: error,
      });
    }
    throw error;
  }
}

/** The choice that opens this device again, without measuring. */
export function sameDevice({ adapter: { device, isSoftware } }: ComputeWorker): DeviceChoice {
  if (device === "webgpu") return isSoftware ? "software" : "gpu";
  return device;
}

/** Its name, and why `auto` chose it. */
export function deviceText({ adapter: { name }, reason }: ComputeWorker): string {
  return reason === null ? name : `${name}: ${reason}`;
}
