/**
 * The wires that a stage's tasks read and make, by name. Each boundary has two: the wire, forward, and the gradient on it,
 * back. How their bytes come about is the codec's (core/codec).
 */

import type { WireDirection } from "../codec/codec.ts";
import type { Wire, WireSpec } from "../codec/wire.ts";
import type { Direction } from "../ids.ts";
import type { ModelPlan } from "./shape.ts";
import { type StageSpec, wireSpec } from "./spec.ts";

export interface StageWires {
  readonly input: Wire | null; // null at the head, with its gradient
  readonly inputGradient: Wire | null;
  readonly output: Wire | null; // null at the tail, with its gradient
  readonly outputGradient: Wire | null;
}

export function stageWires({ wireIn, wireOut, sequences, model }: StageSpec): StageWires {
  const rows = sequences * model.contextLength;
  const wire = (spec: WireSpec | null, direction: WireDirection): Wire | null =>
    spec === null ? null : { ...spec, direction, rows };
  return {
    input: wire(wireIn, "forward"),
    inputGradient: wire(wireIn, "gradient"),
    output: wire(wireOut, "forward"),
    outputGradient: wire(wireOut, "gradient"),
  };
}

/** What a task of this direction puts out: a wire forward, a gradient otherwise; null where the pipeline ends. */
export function taskOutput(stage: StageSpec, direction: Direction): Wire | null {
  const { output, inputGradient } = stageWires(stage);
  return direction === "forward" ? output : inputGradient;
}

/** The same of every stage that has one. */
export function runWire(config: ModelPlan, direction: Direction): Wire {
  const rows = config.train.sequencesPerMicrobatch * config.model.contextLength;
  return { ...wireSpec(config), direction: direction === "forward" ? "forward" : "gradient", rows };
}
