/** Commands on a run's folder that take the newest run of this machine where none is named. */

import type { OptionValues } from "../command.ts";

/** Of an option whose placeholder is DIR. */
export const ownRunOption = {
  defaultText: "the current folder's run, or the newest of this machine",
  doc: "the run's folder",
} as const;

export const newestWithoutRun = ({ options }: { readonly options: OptionValues }): "newest" | null =>
  options.text("run") === undefined ? "newest" : null;
