/** The options that say when a miner may work. */

import type { OptionSpec } from "../../terminal/command.ts";

export const pauseOptions: readonly OptionSpec[] = [
  {
    name: "schedule",
    kind: "string",
    placeholder: "HOURS",
    defaultText: "always",
    doc: 'work only at these local times, e.g. "mon-fri 22:00-07:00; sat,sun 0:00-24:00"',
  },
  { name: "idle-only", kind: "boolean", doc: "pause while other programs or people use the machine" },
  { name: "mains-only", kind: "boolean", doc: "pause while the machine runs on battery" },
  {
    name: "max-temp",
    kind: "float",
    placeholder: "C",
    min: 20,
    max: 120,
    defaultText: "no limit",
    doc: "pause while the hottest sensor is above this, in degrees Celsius",
  },
];

/** The options that need the sensors; Linux cannot tell whether a person is present. */
export const sensorOptions: readonly string[] = ["mains-only", "max-temp", "idle-only"];
