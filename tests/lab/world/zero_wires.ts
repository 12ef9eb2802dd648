/**
 * The control of experiments with codecs: wires of the usual length that say nothing.
 *
 * Every receiver reads the same values for every token, whatever was sent, and no gradient comes back over a boundary:
 * the tail learns what can be known without the input, and no stage before it learns. A codec is worth what it does
 * better. Nothing is computed whose result nobody reads; ids of tokens cross as ever, where stages keep something of
 * each. The values are ones, because a stage that reads zeros cannot even learn how frequent each token is.
 */

import { present } from "../../../core/assert.ts";
import { encodeWire, type Wire, wireIds } from "../../../core/codec/wire.ts";
import { stageWires } from "../../../core/model/stage_wires.ts";
import type { StageInput } from "../../../gpu/compute.ts";
import type { ComputeHost } from "../../../cli/device/compute_host.ts";
import { changedStages, type Passes } from "./changed_stages.ts";

const wireValue = 1;
const gradientValue = 2 ** -10; // plausible to the orchestrator, and read by nobody

export function zeroWires(host: ComputeHost): ComputeHost {
  return changedStages(host, (stage): Passes => {
    const { input, inputGradient, output } = stageWires(stage.spec);
    const idsOf = (given: StageInput) =>
      given.type === "tokens"
        ? given.tokens
        : wireIds(present(input, "a wire is given to a stage that reads one"), given.wire);
    const received = (given: StageInput): StageInput =>
      input === null ? given : { type: "wire", wire: constant(input, wireValue, idsOf(given)) };
    const ofTail: Passes = {
      turnaround: (given, targets) => stage.turnaround(received(given), targets),
      evaluate: (given, targets) => stage.evaluate(received(given), targets),
      logitsAt: (given, position) => stage.logitsAt(received(given), position),
    };
    if (output === null) return ofTail;
    return {
      forward: (given) => Promise.resolve(constant(output, wireValue, idsOf(given))),
      backward: () => Promise.resolve(inputGradient === null ? null : constant(inputGradient, gradientValue)),
    };
  });
}

const constant = (wire: Wire, value: number, ids: Uint32Array | null = null) =>
  encodeWire(wire, new Float32Array(wire.rows * wire.width).fill(value), ids);
