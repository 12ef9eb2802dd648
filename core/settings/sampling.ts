/** Defaults of samples. */

import type { RunConfig, SampleConfig } from "../config/config.ts";
import { samplingDefaults } from "../config/knobs.ts";

export const samplingOf = ({ sample }: Pick<RunConfig, "sample">): Required<SampleConfig> => ({
  ...samplingDefaults,
  ...sample,
});
