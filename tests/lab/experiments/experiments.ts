/**
 * The experiments by name: what each compares, as settings of runs that are equal otherwise. A new one is an entry here.
 *
 * The first row of each is the control that gaps are measured from, and the first of a family that of its rows. Every row trains
 * with the run's seed, data and number of tokens. Rows have no sides unless they are `beside`: each names its wire.
 */

import type { Codec } from "../../../core/codec/codec_names.ts";
import type { Settings } from "../world/lab_settings.ts";

export interface Row {
  readonly name: string;
  /** `width`: of the model. */
  settings(width: number): Settings;
  readonly links?: string; // of every miner, as `iota swarm --links`. @default none: no delay
  readonly slowness?: number; // times that every pass takes as long. @default 1
  readonly stepShare?: number; // of the experiment's steps: larger steps are fewer, at equal tokens. @default 1
  /** Rows of a family are compared with its first one, and with its row of zero wires. @default the family of those without */
  readonly family?: string;
  /** "zero": they say nothing, and what a codec is worth is measured from this row. @default as the run's codec has them */
  readonly wires?: "zero";
}

export interface Experiment {
  readonly doc: string;
  /** Of every row, unless the command line says otherwise. */
  readonly settings: Settings;
  readonly rows: readonly Row[];
}

const plain: Settings = {
  "swarm.replicas": 1,
  "train.optimizer": "muon",
  "outer.learningRate": 1,
  "outer.momentum": 0,
};

const row = (name: string, settings: Settings): Row => ({ name, settings: () => settings });

/** `share`: of the model's width that crosses, to the next multiple of 4 values. */
const wire = (codec: Codec, [share, text]: readonly [number, string]): Row => ({
  name: `${codec} ${text}`,
  settings: (width) => ({ "pipeline.codec": codec, "pipeline.bottleneckWidth": 4 * Math.ceil(share * width / 4) }),
});

/** Of a wire of 1/16, with gradients in so many bits. */
const back = (bits: number): Row => {
  const { name, settings } = wire("q5block", [3 / 16, "3d/16"]);
  return {
    name: `${name} back in ${bits} bits`,
    settings: (width) => ({ ...settings(width), "pipeline.gradientBits": bits }),
  };
};

/** The same with so many values of each token beside the wire, of which at `tiny` and `small` 2 bytes are ids. */
const beside = ({ name, settings, ...other }: Row, sideWidth = 64): Row => ({
  ...other,
  family: "side",
  name: `${name} + side`,
  settings: (width) => ({ ...settings(width), "pipeline.sideWidth": Math.min(sideWidth, width) }),
});

const none = row("none", { "pipeline.codec": "none" });
const zero: Row = { ...none, name: "zero", wires: "zero" };
/** The zero of codecs whose receivers know the tokens: a model of the tail's one layer. */
const tailAlone = row("tail alone", { "pipeline.codec": "none", "pipeline.stages": 1, "model.layers": 1 });

const payload = (name: string, settings: Settings) => row(name, { "swarm.replicas": 4, ...settings });

const sparse = (density: number, learningRate: number): Settings => ({
  "outer.payload": "sparse",
  "outer.density": density,
  "outer.learningRate": learningRate,
});

/** A payload is then a hundredth of float32's. */
const hundredth = sparse(1 / 23, 2);

const swarm = (name: string, { codec = "q5block", share, stepsPerRound }: {
  codec?: Codec;
  share: number;
  stepsPerRound: number;
}): Row => ({
  name,
  settings: (width) => ({ ...wire(codec, [share, ""]).settings(width), "train.stepsPerRound": stepsPerRound }),
});

/** Its stages run in one process, with nothing lost between them. */
const oneProcess = row("one process", { "swarm.replicas": 1, "pipeline.codec": "none" });

const fewestMicrobatches = 8; // of a step

/** `slowness`: larger models compute longer. */
const line = (
  microbatchesPerStep: number,
  { links, slowness = 1 }: { links: string | undefined; slowness?: number },
): Row => ({
  ...row(
    `${microbatchesPerStep} microbatches${slowness === 1 ? "" : `, passes x ${slowness}`}${
      links === undefined ? "" : `, ${links}`
    }`,
    { "train.microbatchesPerStep": microbatchesPerStep },
  ),
  ...(links === undefined ? {} : { links }),
  slowness,
  stepShare: fewestMicrobatches / microbatchesPerStep,
});

const lines = [undefined, "40ms 20mbit", "150ms 5mbit"];

export const experiments: Readonly<Record<string, Experiment>> = {
  codecs: {
    doc: "wire codecs at equal bytes, one replica a stage, against codec none",
    settings: { ...plain, "train.steps": 100 }, // of all rows and three seeds in less than an hour of two cores
    rows: [
      none,
      zero,
      tailAlone,
      wire("iota", [1 / 16, "d/16"]), // 1/16 of the bytes of bfloat16
      wire("resbm", [1 / 16, "d/16"]),
      wire("q4block", [1 / 4, "d/4"]),
      wire("q5block", [3 / 16, "3d/16"]),
      back(5),
      back(4),
      wire("q4block", [1 / 8, "d/8"]), // 1/28
      wire("q6block", [1 / 16, "d/16"]), // 1/37
      wire("q5block", [1 / 16, "d/16"]), // 1/43
      wire("iota", [1 / 32, "d/32"]),
      wire("q4block", [3 / 32, "3d/32"]), // 1/37
      beside(none),
      beside(zero),
      beside(wire("q5block", [1 / 16, "d/16"])), // 1/32
      beside(wire("q5block", [3 / 16, "3d/16"])),
    ],
  },
  merge: {
    doc: "payloads of a merge, four replicas and codec none, against one replica on the same tokens",
    settings: {
      ...{ "pipeline.codec": "none", "train.optimizer": "muon", "train.stepsPerRound": 5 },
      ...{ "train.steps": 100 }, // of all rows and three seeds in about an hour of two cores
    },
    rows: [
      row("one replica", { "swarm.replicas": 1 }),
      payload("float32", { "outer.payload": "float32" }),
      payload("float32 DiLoCo", { "outer.payload": "float32", "outer.learningRate": 0.7, "outer.momentum": 0.9 }),
      payload("int8", { "outer.payload": "int8" }),
      payload("sparse 1/16, rate 1", sparse(1 / 16, 1)),
      payload("sparse 1/64, rate 1", sparse(1 / 64, 1)),
      payload("sparse 1/23, rate 2", hundredth),
    ],
  },
  swarm: {
    doc: "two replicas of every stage against one plain process on the same tokens, with the same optimizer",
    settings: { "swarm.replicas": 2, "train.optimizer": "muon", "outer.payload": "int8" },
    rows: [
      oneProcess,
      swarm("q5block 3d/16, every step", { share: 3 / 16, stepsPerRound: 1 }),
      swarm("q5block 3d/16, every 20", { share: 3 / 16, stepsPerRound: 20 }),
      row("none, every 20", { "pipeline.codec": "none", "train.stepsPerRound": 20 }),
      swarm("q5block d/16, every step", { share: 1 / 16, stepsPerRound: 1 }),
      swarm("q5block 3d/32, every step", { share: 3 / 32, stepsPerRound: 1 }),
      swarm("q4block 3d/64, every step", { codec: "q4block", share: 3 / 64, stepsPerRound: 1 }), // 1/73 at d 256
      beside(oneProcess), // the control of the rows below it
      beside(swarm("q5block d/16, every step", { share: 1 / 16, stepsPerRound: 1 })), // 1/32 at d 128
      beside(swarm("q5block 3d/32, every step", { share: 3 / 32, stepsPerRound: 1 })),
      beside(swarm("q5block d/32, every step", { share: 1 / 32, stepsPerRound: 1 })), // 1/64 at d 256
    ],
  },
  links: {
    doc:
      "steps of more microbatches, and of passes that take longer, over home lines: tokens per second of virtual time, and what they cost in loss",
    settings: { "swarm.replicas": 2, "train.steps": 240 },
    rows: [
      ...[1, 2, 4].flatMap((times) => lines.map((links) => line(times * fewestMicrobatches, { links }))),
      ...[4, 16].flatMap((slowness) => lines.map((links) => line(fewestMicrobatches, { links, slowness }))),
    ],
  },
};
