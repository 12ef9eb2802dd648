/** Wrong kinds, lengths and ids are our bug; untrusted bytes were checked before. */

import { assert, present } from "../core/assert.ts";
import { roundingKey } from "../core/codec/rounding_key.ts";
import { valuesOfWire, type Wire, wireBytes, wireIds } from "../core/codec/wire.ts";
import type { StageSpec } from "../core/model/spec.ts";
import { type StageWires, stageWires } from "../core/model/stage_wires.ts";
import type { StageInput } from "./compute.ts";
import type { WireTransfer } from "./codecs/codec.ts";
import type { BufferRange, DeviceBuffers } from "./stage_ops.ts";
import type { StageProgram } from "./stage_program.ts";
import { tokenIndex } from "./token_index.ts";

export class StageUploads {
  readonly #spec: StageSpec;
  readonly #buffers: DeviceBuffers;
  readonly #wires: StageWires;

  constructor(options: { spec: StageSpec; buffers: DeviceBuffers }) {
    this.#spec = options.spec;
    this.#buffers = options.buffers;
    this.#wires = stageWires(options.spec);
  }

  input(input: StageInput, { tokens, wireIn, places }: StageProgram): void {
    const { input: wire } = this.#wires;
    assert(input.type !== "tokens" || wire === null, `Stage ${this.#spec.index} reads a wire, not tokens`);
    if (input.type === "wire") {
      assert(wireIn !== null && wire !== null, "The head stage reads tokens, not a wire");
      checkLength("the wire", wire, input.wire);
      this.#wire("the wire", wireIn.value, valuesOfWire(wire, input.wire));
    }
    if (tokens !== null) this.#ids("tokens", tokens.tokens, this.#given(input));
    assert((input.places === undefined) === (places === null), "Rows have places exactly in a stage with a cache");
    if (places === null || input.places === undefined) return;
    const count = 2 * this.#spec.sequences;
    assert(input.places.length === count, `There must be ${count} numbers of places, and are ${input.places.length}`);
    this.#buffers.upload(places, input.places);
  }

  ofBackward(input: StageInput, { tokens, wireIn }: StageProgram): void {
    if (tokens !== null) this.#buffers.upload(tokens.index, tokenIndex(this.#given(input)));
    const key = wireIn?.gradient.key ?? null;
    if (key !== null && input.type === "wire") this.#buffers.upload(key, Uint32Array.of(roundingKey(input.wire)));
  }

  /** Null: no tokens cross with the wire. */
  ids(input: StageInput): Uint32Array | null {
    if (input.type === "tokens") return input.tokens;
    const { input: wire } = this.#wires;
    return wire === null ? null : wireIds(wire, input.wire);
  }

  #given(input: StageInput): Uint32Array {
    return present(this.ids(input), "a stage that looks tokens up is given ids");
  }

  targets(range: BufferRange, targets: Uint32Array): void {
    this.#ids("targets", range, targets);
  }

  gradient(transfer: WireTransfer, bytes: Uint8Array): void {
    this.#wire("the gradient", transfer, bytes);
  }

  #wire(what: string, { wire, staged, toStaged }: WireTransfer, bytes: Uint8Array): void {
    checkLength(what, wire, bytes);
    this.#buffers.upload(staged, toStaged(bytes));
  }

  #ids(what: string, range: BufferRange, ids: Uint32Array): void {
    const { sequences, model: { contextLength, vocabSize } } = this.#spec;
    const expected = sequences * contextLength;
    assert(
      ids.length === expected,
      `Cannot use ${what} as there must be ${expected}: current value is ${ids.length}`,
    );
    const largest = ids.reduce((a, b) => Math.max(a, b), 0);
    assert(largest < vocabSize, `Cannot use ${what} as ids must be below ${vocabSize}: current value is ${largest}`);
    this.#buffers.upload(range, ids);
  }
}

function checkLength(what: string, wire: Wire, bytes: Uint8Array): void {
  const expected = wireBytes(wire);
  assert(
    bytes.length === expected,
    `Cannot decode ${what} as it must have ${expected} bytes: current value is ${bytes.length}`,
  );
}
