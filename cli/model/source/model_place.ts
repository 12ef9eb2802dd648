/** Which model a command line names. */

import type { OptionValues } from "../../terminal/command.ts";
import { UsageError } from "../../program/errors.ts";

/** `purpose`: behind "no run on this machine", such as "to serve". */
export function modelPlace(options: OptionValues, purpose: string): string {
  const place = options.text("model") ?? options.text("run") ?? options.text("data");
  if (place !== undefined) return place;
  throw new UsageError(`There is no run on this machine ${purpose}; --run must name the folder of one`, {
    next: "Train one: iota swarm; or for example: --run runs/demo",
  });
}
