/** For commands that take this machine's newest run unless one is named. */

import type { OptionValues } from "../command.ts";

/** Needs the placeholder DIR. */
export const ownRunOption = {
  defaultText: "the current folder's run, or the newest of this machine",
  doc: "the run's folder",
} as const;

export const newestWithoutRun = ({ options }: { readonly options: OptionValues }): "newest" | null =>
  options.text("run") === undefined ? "newest" : null;
