/** For commands that take this machine's newest run unless one is named. */

import type { OptionSpec, OptionValues } from "../command.ts";

/** Needs the placeholder DIR. */
export const ownRunOption = {
  defaultText: "the current folder's run, or the newest of this machine",
  doc: "the run's folder",
} as const;

export const newestWithoutRun = ({ options }: { readonly options: OptionValues }): "newest" | null =>
  options.text("run") === undefined ? "newest" : null;

/** For commands that use a model. */
export const modelOption: OptionSpec = {
  name: "model",
  kind: "string",
  placeholder: "DIR",
  doc: "in place of a run: a checkpoint, an export or a Hugging Face Llama",
};

export const newestWithoutModel = ({ options }: { readonly options: OptionValues }): "newest" | null =>
  options.text("model") === undefined ? newestWithoutRun({ options }) : null;
