/**
 * Wires in another code than the run's: what a stage sends is rounded to the codes of a few bits and goes on in the run's own
 * format. So one direction's bits can be compared while everything else stays.
 *
 * The run's format should be finer than the codes, as bfloat16 is; its own rounding is added.
 */

import { noKey, roundingKey } from "../../core/codec/rounding_key.ts";
import { type CodesSpec, scaledCodes } from "../../core/codec/scaled_codes.ts";
import { decodeWire, encodeWire, type Wire, wireBytes, wireIds, withoutIds } from "../../core/codec/wire.ts";
import { stageWires } from "../../core/model/stage_wires.ts";
import type { StageInput } from "../../gpu/compute.ts";
import type { ComputeHost } from "../roles/compute_host.ts";
import { changedStages, type Passes } from "./changed_stages.ts";

/** Null: as the run's codec has it. */
export interface WireCodes {
  readonly forward: CodesSpec | null;
  readonly gradient: CodesSpec | null;
}

export function codedWires(host: ComputeHost, codes: WireCodes): ComputeHost {
  return changedStages(host, (stage): Passes => {
    const { output, inputGradient } = stageWires(stage.spec);
    const gradientOf = (bytes: Uint8Array | null, input: StageInput) => {
      if (bytes === null || inputGradient === null || input.type !== "wire") return null;
      return rounded(inputGradient, { bytes, codes: codes.gradient, key: roundingKey(input.wire) });
    };
    const turnaround: Passes["turnaround"] = async (input, targets) => {
      const { gradient, ...result } = await stage.turnaround(input, targets);
      return { ...result, gradient: gradientOf(gradient, input) };
    };
    if (output === null) return { turnaround };
    return {
      forward: async (input, options) =>
        rounded(output, { bytes: await stage.forward(input, options), codes: codes.forward, key: noKey }),
      backward: async (input, gradient, options) => gradientOf(await stage.backward(input, gradient, options), input),
    };
  });
}

/** Of a wire whose codes are not the run's. */
export function codedBytes(wire: Wire, codes: CodesSpec | null): number {
  const ofIds = wireBytes(wire) - wireBytes(withoutIds(wire));
  return codes === null ? wireBytes(wire) : scaledCodes(codes).byteLength(wire) + ofIds;
}

interface Rounding {
  readonly bytes: Uint8Array;
  readonly codes: CodesSpec | null;
  readonly key: number;
}

function rounded(wire: Wire, { bytes, codes, key }: Rounding): Uint8Array {
  if (codes === null) return bytes;
  const format = scaledCodes(codes);
  const values = format.decode(format.encode(decodeWire(wire, bytes), wire, key), wire);
  return encodeWire(wire, values, wireIds(wire, bytes));
}
