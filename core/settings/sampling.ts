/** How samples of the model's text are made: what a configuration leaves out. */

import type { RunConfig, SampleConfig } from "../config/config.ts";
import { samplingDefaults } from "../config/knobs.ts";

export const samplingOf = ({ sample }: Pick<RunConfig, "sample">): Required<SampleConfig> => ({
  ...samplingDefaults,
  ...sample,
});
