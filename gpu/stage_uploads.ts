/**
 * A task's inputs to the GPU: tokens, targets, wires and gradients on wires, checked and put where the program reads them.
 *
 * Rejects, as our bug: inputs of the wrong kind or length and ids outside the vocabulary; nothing is uploaded then. Untrusted
 * bytes have passed the shell's own checks before they get here.
 */

import { assert } from "../core/assert.ts";
import { wireBytes } from "../core/codec/wire.ts";
import type { StageSpec } from "../core/model/spec.ts";
import type { StageInput } from "./compute.ts";
import type { WireTransfer } from "./codecs/codec.ts";
import type { BufferRange, DeviceBuffers } from "./stage_ops.ts";
import type { StageProgram } from "./stage_program.ts";
import { tokenIndex } from "./token_index.ts";

export class StageUploads {
  readonly #spec: StageSpec;
  readonly #buffers: DeviceBuffers;

  constructor(options: { spec: StageSpec; buffers: DeviceBuffers }) {
    this.#spec = options.spec;
    this.#buffers = options.buffers;
  }

  input(input: StageInput, { embed, wireIn }: StageProgram): void {
    if (input.type === "tokens") {
      assert(embed !== null, `Stage ${this.#spec.index} reads a wire, not tokens`);
      this.#ids("tokens", embed.tokens, input.tokens);
    } else {
      assert(wireIn !== null, "The head stage reads tokens, not a wire");
      this.#wire("the wire", wireIn.value, input.wire);
    }
  }

  /** For a backward: the head's embedding gradient needs its tokens sorted. */
  index(input: StageInput, { embed }: StageProgram): void {
    if (input.type === "tokens" && embed !== null) this.#buffers.upload(embed.index, tokenIndex(input.tokens));
  }

  targets(range: BufferRange, targets: Uint32Array): void {
    this.#ids("targets", range, targets);
  }

  gradient(transfer: WireTransfer, bytes: Uint8Array): void {
    this.#wire("the gradient", transfer, bytes);
  }

  #wire(what: string, { wire, staged, toStaged }: WireTransfer, bytes: Uint8Array): void {
    const expected = wireBytes(wire);
    assert(
      bytes.length === expected,
      `Cannot decode ${what} as it must have ${expected} bytes: current value is ${bytes.length}`,
    );
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
