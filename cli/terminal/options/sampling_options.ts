/** For commands in which a model writes: how its next token is drawn. */

import type { OptionSpec } from "../command.ts";

export const samplingOptions: readonly OptionSpec[] = [
  {
    name: "temperature",
    kind: "float",
    placeholder: "X",
    min: 0,
    max: 100,
    default: 0.8,
    doc: "0 always takes the most likely token",
  },
  {
    name: "top-k",
    kind: "int",
    placeholder: "N",
    min: 0,
    default: 40,
    doc: "candidates for each token; 0 takes all",
  },
  {
    name: "top-p",
    kind: "float",
    placeholder: "X",
    min: 0,
    max: 1,
    default: 1,
    doc: "of those, only the likeliest that together have this probability",
  },
  { name: "stop", kind: "string", placeholder: "TEXT", doc: "end the text before this one" },
  {
    name: "seed",
    kind: "int",
    placeholder: "N",
    min: 0,
    max: 0xffff_ffff,
    default: 1,
    doc: "equal seeds give equal text",
  },
];
