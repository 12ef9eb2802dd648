/**
 * The experiments by name: what each compares, as settings of runs that are equal otherwise. A new one is an entry here.
 *
 * The first row of each is the control that gaps are measured from. Every row trains with the run's seed, data and number of
 * tokens.
 */

import type { Codec } from "../../core/codec/codec_names.ts";
import type { KnobPath, KnobValue } from "../../core/config/knob.ts";

export type Settings = Readonly<Partial<Record<KnobPath, KnobValue>>>;

export interface Row {
  readonly name: string;
  /** `width`: of the model. */
  settings(width: number): Settings;
}

export interface Experiment {
  readonly doc: string;
  /** Of every row, unless the command line says otherwise. */
  readonly settings: Settings;
  readonly rows: readonly Row[];
}

const row = (name: string, settings: Settings): Row => ({ name, settings: () => settings });

/** `share`: of the model's width that crosses, to the next multiple of 8 values. */
const wire = (codec: Codec, [share, text]: readonly [number, string]): Row => ({
  name: `${codec} ${text}`,
  settings: (width) => ({ "pipeline.codec": codec, "pipeline.bottleneckWidth": 8 * Math.ceil(share * width / 8) }),
});

const payload = (name: string, settings: Settings) => row(name, { "swarm.replicas": 4, ...settings });

export const experiments: Readonly<Record<string, Experiment>> = {
  codecs: {
    doc: "wire codecs at equal bytes, one replica a stage, against codec none",
    settings: { "swarm.replicas": 1, "train.optimizer": "muon", "outer.learningRate": 1, "outer.momentum": 0 },
    rows: [
      row("none", { "pipeline.codec": "none" }),
      wire("iota", [1 / 8, "d/8"]), // 1/8 of the bytes of bfloat16
      wire("q4block", [1 / 2, "d/2"]),
      wire("q5block", [3 / 8, "3d/8"]),
      wire("iota", [1 / 16, "d/16"]), // 1/16
      wire("q4block", [1 / 4, "d/4"]),
      wire("q5block", [3 / 16, "3d/16"]),
      wire("q4block", [1 / 8, "d/8"]), // 1/28
      wire("q5block", [1 / 16, "d/16"]), // 1/43
    ],
  },
  merge: {
    doc: "payloads of a merge, four replicas and codec none, against one replica on the same tokens",
    settings: { "pipeline.codec": "none", "train.optimizer": "muon", "train.stepsPerRound": 10 },
    rows: [
      row("one replica", { "swarm.replicas": 1 }),
      payload("float32", { "outer.payload": "float32" }),
      payload("bf16", { "outer.payload": "bf16" }),
      payload("int8", { "outer.payload": "int8" }),
      payload("sparse 1/16", { "outer.payload": "sparse", "outer.density": 1 / 16 }),
      payload("sparse 1/64", { "outer.payload": "sparse", "outer.density": 1 / 64 }),
    ],
  },
};

/** The experiments that train, and `clasp` (clasp/run_clasp.ts), which trains once for each seed and then draws swarms. */
export const experimentNames: readonly string[] = [...Object.keys(experiments), "clasp"];
