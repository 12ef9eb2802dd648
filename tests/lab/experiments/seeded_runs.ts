/** The runs of an experiment that trains models of its own: one configuration a seed, each with its text, on one device. */

import type { CommandContext } from "../../../cli/terminal/command.ts";
import { withLabData } from "../world/lab_data.ts";
import { configOf, type Settings } from "../world/lab_settings.ts";
import { givenRun } from "../../../cli/terminal/options/run_options.ts";
import { withExperimentPlace } from "./experiment_place.ts";
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
  await withExperimentPlace(context, async ({ folder, device, signal }) => {
    for (const config of configs) {
      signal.throwIfAborted();
      await withLabData({ folder, config }, (batches) => {
        signal.throwIfAborted(); // preparing the text may have taken a while
        return body({ config, batches, device, signal });
      });
    }
  });
}
