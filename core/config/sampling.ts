/** How samples of the model's text are made: what a configuration leaves out. */

import type { RunConfig, SampleConfig } from "./config.ts";

/** The prompt suits the built-in text; samples of different rounds are compared, so it stays the same. */
export const samplingDefaults: Required<SampleConfig> = { prompt: "The people", tokens: 48 };

export const samplingOf = ({ sample }: Pick<RunConfig, "sample">): Required<SampleConfig> => ({
  ...samplingDefaults,
  ...sample,
});
