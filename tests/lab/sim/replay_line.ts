/** The command that repeats the same simulation; kinds by name, so that it stays valid when the list of kinds grows. */

import { linksText } from "../../../cli/swarm/chaos/link_shape.ts";
import type { SimOptions } from "./simulate.ts";

export function replayLine({ seed, miners, minutes, faults, forwardMs, links }: SimOptions): string {
  const kinds = faults === "drawn" ? "drawn" : faults.length === 0 ? "none" : faults.join(",");
  const pace = forwardMs === undefined ? "" : ` --forward-ms ${forwardMs}`;
  const lines = links === undefined ? "" : ` --links "${linksText(links)}"`;
  return `./lab sim --seed ${seed} --miners ${miners} --minutes ${minutes} --faults ${kinds}${pace}${lines}`;
}
