/**
 * One task of a stage, operation by operation: a forward and its backward, or the tail's turnaround.
 *
 * Out of scope: comparing (operation_check.ts).
 */

import type { StageSpec } from "../../core/model/spec.ts";
import { createDeviceStage } from "../stage.ts";
import type { StageDevice } from "../stage_device.ts";
import { taskParameters, taskWork } from "./task_inputs.ts";
import { TracedDevice, type TracedOutput } from "./traced_device.ts";

/** All outputs in the order of the operations. The device is destroyed. */
export async function tracedTask(device: StageDevice, spec: StageSpec): Promise<TracedOutput[]> {
  const outputs: TracedOutput[] = [];
  const traced = new TracedDevice(device, (output) => outputs.push(output));
  const stage = await createDeviceStage(traced, spec, { optimizer: null });
  try {
    const { input, targets, gradient } = taskWork(spec);
    await stage.loadParameters(taskParameters(spec));
    outputs.length = 0; // zeroed memory is no result
    if (gradient === null) await stage.turnaround(input, targets);
    else {
      await stage.forward(input);
      await stage.backward(input, gradient);
    }
    return outputs;
  } finally {
    stage.close();
  }
}
