/** Turns received segments into a stage's input, rejecting untrusted data with a wrong length, token ids or numbers. */

import { type Wire, wireFault } from "../../core/codec/wire.ts";
import { type Parsed, parsed, refused } from "../../core/fault.ts";
import type { StageSpec } from "../../core/model/spec.ts";
import { stageWires } from "../../core/model/stage_wires.ts";
import type { StageInput } from "../../gpu/compute.ts";

export function readTokens(stage: StageSpec, bytes: Uint8Array): Parsed<Uint32Array> {
  const wanted = 4 * stage.sequences * stage.model.contextLength;
  if (bytes.byteLength !== wanted) {
    return refused(
      "badBlob",
      `Tokens must take ${wanted} bytes, but take ${bytes.byteLength}`,
    );
  }
  const tokens = u32Of(bytes);
  const wrong = tokens.find((token) => token >= stage.model.vocabSize);
  if (wrong === undefined) return parsed(tokens);
  return refused("badNumbers", `Token ids must be below ${stage.model.vocabSize}, but one is ${wrong}`);
}

/** Copies, because segments may start at any byte and a typed array may not. */
export function u32Of(bytes: Uint8Array): Uint32Array {
  const copy = new Uint8Array(bytes.byteLength);
  copy.set(bytes);
  return new Uint32Array(copy.buffer);
}

export function readWire(wire: Wire, bytes: Uint8Array): Parsed<Uint8Array> {
  const wrong = wireFault(wire, bytes);
  return wrong === null ? parsed(bytes) : { ok: false, fault: wrong };
}

export function readInput(stage: StageSpec, bytes: Uint8Array): Parsed<StageInput> {
  const { input } = stageWires(stage);
  if (input === null) {
    const tokens = readTokens(stage, bytes);
    return tokens.ok ? parsed({ type: "tokens", tokens: tokens.value }) : tokens;
  }
  const wire = readWire(input, bytes);
  return wire.ok ? parsed({ type: "wire", wire: wire.value }) : wire;
}
