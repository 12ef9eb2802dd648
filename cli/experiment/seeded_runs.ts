/** The runs of an experiment that trains models of its own: one configuration a seed, each with its text, on one device. */

import type { CommandContext } from "../command.ts";
import { withLabData } from "../lab/lab_data.ts";
import { configOf, type Settings } from "../lab/lab_settings.ts";
import { givenRun } from "../options/run_options.ts";
import { openDevice } from "../roles/open_device.ts";
import type { PathOptions } from "./trained_path.ts";

const defaultSeeds = 3;

/**
 * Calls `body` for `--seeds` seeds from `--seed` on, one after another. All settings are checked before the first begins.
 */
export async function forEachSeed(
  context: CommandContext,
  { common, fixed }: { common: Settings; fixed: Settings },
  body: (options: PathOptions) => Promise<void>,
): Promise<void> {
  const { options } = context;
  const { input } = await givenRun(context);
  const first = options.number("seed") ?? 1;
  const configs = Array.from(
    { length: options.number("seeds") ?? defaultSeeds },
    (_, i) => configOf({ common, input, fixed: { ...fixed, seed: first + i } }),
  );
  const signal = context.interruption();
  const folder = await Deno.makeTempDir({ prefix: "iota-experiment-" });
  const device = await openDevice(options.text("device") ?? "cpu", { threads: options.number("threads") });
  try {
    for (const config of configs) {
      await withLabData({ folder, config }, (batches) => body({ config, batches, device, signal }));
    }
  } finally {
    await device.finish();
    await Deno.remove(folder, { recursive: true });
  }
}
