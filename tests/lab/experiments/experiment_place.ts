/** What an experiment trains with: a folder of datasets, a device, and Ctrl-C. Folder and device go when it ends, however it ends. */

import type { CommandContext } from "../../../cli/terminal/command.ts";
import type { ComputeHost } from "../../../cli/device/compute_host.ts";
import { openDevice } from "../../../cli/device/open_device.ts";

export interface ExperimentPlace {
  readonly folder: string; // of datasets
  readonly device: ComputeHost;
  readonly signal: AbortSignal;
}

export async function withExperimentPlace<T>(
  { options, interruption }: CommandContext,
  use: (place: ExperimentPlace) => Promise<T>,
): Promise<T> {
  const signal = interruption(); // first: from here on Ctrl-C ends in the order below
  const folder = await Deno.makeTempDir({ prefix: "iota-experiment-" });
  try {
    const device = await openDevice(options.text("device") ?? "cpu", { threads: options.number("threads") });
    try {
      return await use({ folder, device, signal });
    } finally {
      await device.finish();
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
