/**
 * Opens the device that `--device` names, or says what a person can do if there is none.
 */

import { ComputeError, type ComputeWorker, openComputeWorker } from "../../gpu/worker_client.ts";
import { UserError } from "../output/errors.ts";

export async function openDevice(choice: string | undefined): Promise<ComputeWorker> {
  const device = choice === "webgpu" || choice === "reference" ? choice : "auto";
  try {
    return await openComputeWorker({ device });
  } catch (error) {
    if (error instanceof ComputeError && error.kind === "NoAdapterError") {
      throw new UserError(error.message, {
        next:
          "On Debian or Ubuntu: apt-get install mesa-vulkan-drivers libvulkan1; with a GPU: install its Vulkan driver",
        cause: error,
      });
    }
    throw error;
  }
}
