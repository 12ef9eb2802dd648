/** A stage's wires. Each boundary has the wire, forward, and the gradient on it, back. */

import type { WireDirection } from "../codec/codec.ts";
import type { Wire, WireSpec } from "../codec/wire.ts";
import type { Direction } from "../ids.ts";
import type { ModelPlan } from "./shape.ts";
import { wiresOfRun } from "./boundaries.ts";
import type { StageSpec } from "./spec.ts";

export interface StageWires {
  readonly input: Wire | null; // null at the head
  readonly inputGradient: Wire | null;
  readonly output: Wire | null; // null at the tail
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

/** A wire for a forward, otherwise a gradient; null where the pipeline ends. */
export function taskOutput(stage: StageSpec, direction: Direction): Wire | null {
  const { output, inputGradient } = stageWires(stage);
  return direction === "forward" ? output : inputGradient;
}

/** In the order of boundaries; empty with one stage. */
export function wiresOfDirection(config: ModelPlan, direction: WireDirection): Wire[] {
  const rows = config.train.sequencesPerMicrobatch * config.model.contextLength;
  return wiresOfRun(config).map((spec) => ({ ...spec, direction, rows }));
}
