/**
 * The reference implementation of `StageCompute`: float64 inside, float32 parameters and moments at rest, encoded wires
 * outside. Slow and plain on purpose; it is the oracle of the conformance suite and the compute of machine-level tests.
 *
 * Refuses, as our bug, inputs of the wrong kind or length, ids outside the vocabulary, calls that this stage does not have,
 * and any call after `close`; the promise is rejected and nothing has changed.
 */

import { assert } from "../../core/assert.ts";
import { decodeWire, encodeWire, type Wire, wireBytes } from "../../core/codec/wire.ts";
import type { StageSpec } from "../../core/model/spec.ts";
import { type StageWires, stageWires } from "../../core/model/stage_wires.ts";
import type { AdapterDescription, Moments, StageCompute, StageInput, StageVector } from "../compute.ts";
import type { StepOptions, Turnaround } from "../compute.ts";
import { adamw, type AdamwState } from "./adamw.ts";
import { crossEntropy, crossEntropyBackward } from "./cross_entropy.ts";
import { createStageModel, rowsOf, type StageModel } from "./stage_model.ts";
import {
  headBackward,
  headForward,
  meanPerSequence,
  type PassInput,
  rowsAt,
  stageBackward,
  stageForward,
} from "./stage_pass.ts";

/** A stage with all parameters zero; load them before use. */
export function createReferenceStage(spec: StageSpec): StageCompute {
  return new ReferenceStage(spec);
}

class ReferenceStage implements StageCompute {
  readonly spec: StageSpec;
  readonly adapter: AdapterDescription = { device: "reference", name: "float64 in TypeScript", isSoftware: true };
  readonly #wires: StageWires;
  readonly #model: StageModel;
  readonly #optimizer: AdamwState;
  #isClosed = false;

  constructor(spec: StageSpec) {
    this.spec = spec;
    this.#wires = stageWires(spec);
    this.#model = createStageModel(spec);
    const { parameters, table: { length, decayLength } } = this.#model;
    const first = new Float64Array(length);
    const second = new Float64Array(length);
    this.#optimizer = { parameters, first, second, decayLength, steps: 0 };
  }

  loadParameters(parameters: Float32Array): Promise<void> {
    return this.#run(() => {
      this.#checkLength("parameters", parameters);
      this.#model.parameters.set(parameters);
      this.#model.gradients.fill(0);
    });
  }

  readParameters(): Promise<Float32Array> {
    return this.#run(() => Float32Array.from(this.#model.parameters));
  }

  loadMoments({ first, second, steps }: Moments): Promise<void> {
    return this.#run(() => {
      this.#checkLength("first moments", first);
      this.#checkLength("second moments", second);
      this.#optimizer.first.set(first);
      this.#optimizer.second.set(second);
      this.#optimizer.steps = steps;
    });
  }

  readMoments(): Promise<Moments> {
    return this.#run(() => ({
      first: Float32Array.from(this.#optimizer.first),
      second: Float32Array.from(this.#optimizer.second),
      steps: this.#optimizer.steps,
    }));
  }

  writePart(vector: StageVector, { offset, values }: { offset: number; values: Float32Array }): Promise<void> {
    return this.#run(() => {
      this.#checkPart(vector, { offset, length: values.length });
      this.#vector(vector).set(values, offset);
    });
  }

  readPart(vector: StageVector, part: { offset: number; length: number }): Promise<Float32Array> {
    return this.#run(() => {
      this.#checkPart(vector, part);
      return Float32Array.from(this.#vector(vector).subarray(part.offset, part.offset + part.length));
    });
  }

  countSteps(): Promise<number> {
    return this.#run(() => this.#optimizer.steps);
  }

  setSteps(steps: number): Promise<void> {
    return this.#run(() => void (this.#optimizer.steps = steps));
  }

  forward(input: StageInput): Promise<Uint8Array> {
    return this.#run(() => {
      const wire = this.#outgoing("forward", this.#wires.output);
      const { output } = stageForward(this.#model, this.#passInput(input));
      return encodeWire(wire, Float32Array.from(output));
    });
  }

  backward(input: StageInput, gradient: Uint8Array): Promise<Uint8Array | null> {
    return this.#run(() => {
      const wire = this.#outgoing("backward", this.#wires.outputGradient);
      const dOutput = Float64Array.from(this.#decode("gradient", wire, gradient));
      const pass = stageForward(this.#model, this.#passInput(input));
      return this.#encodeGradient(stageBackward(this.#model, pass, dOutput));
    });
  }

  turnaround(input: StageInput, targets: Uint32Array): Promise<Turnaround> {
    return this.#run(() => {
      this.#checkTail("turnaround");
      this.#checkIds("targets", targets);
      const { vocabSize } = this.spec.model;
      const pass = stageForward(this.#model, this.#passInput(input));
      const head = headForward(this.#model, pass.output);
      const losses = crossEntropy({ logits: head.logits, targets }, vocabSize);
      const dLogits = crossEntropyBackward({ logits: head.logits, targets }, vocabSize);
      const dInput = stageBackward(this.#model, pass, headBackward(this.#model, head, dLogits));
      return {
        lossPerSequence: Float32Array.from(meanPerSequence(this.#model, losses)),
        gradient: this.#encodeGradient(dInput),
      };
    });
  }

  evaluate(input: StageInput, targets: Uint32Array): Promise<Float32Array> {
    return this.#run(() => {
      this.#checkTail("evaluate");
      this.#checkIds("targets", targets);
      const pass = stageForward(this.#model, this.#passInput(input));
      const { logits } = headForward(this.#model, pass.output);
      const losses = crossEntropy({ logits, targets }, this.spec.model.vocabSize);
      return Float32Array.from(meanPerSequence(this.#model, losses));
    });
  }

  logitsAt(input: StageInput, position: number): Promise<Float32Array> {
    return this.#run(() => {
      this.#checkTail("logitsAt");
      const { contextLength } = this.spec.model;
      const isInside = Number.isInteger(position) && position >= 0 && position < contextLength;
      this.#check(isInside, `'position' must be below ${contextLength}: current value is ${position}`);
      const pass = stageForward(this.#model, this.#passInput(input));
      const { logits } = headForward(this.#model, rowsAt(this.#model, pass.output, position));
      return Float32Array.from(logits);
    });
  }

  zeroGradients(): Promise<void> {
    return this.#run(() => void this.#model.gradients.fill(0));
  }

  gradientSquareSum(): Promise<number> {
    return this.#run(() => this.#model.gradients.reduce((sum, g) => sum + g * g, 0));
  }

  readGradients(): Promise<Float32Array> {
    return this.#run(() => Float32Array.from(this.#model.gradients));
  }

  step(options: StepOptions): Promise<void> {
    return this.#run(() => {
      adamw(this.#optimizer, this.#model.gradients, options);
      this.#model.gradients.fill(0);
    });
  }

  close(): void {
    this.#isClosed = true;
  }

  /** The work runs at once; what it throws becomes the promise's rejection. */
  #run<T>(work: () => T): Promise<T> {
    return new Promise((resolve) => {
      this.#check(!this.#isClosed, "it must be open: it was closed before this call");
      resolve(work());
    });
  }

  #check(condition: boolean, rule: string): void {
    assert(condition, `Cannot compute stage ${this.spec.index} as ${rule}`);
  }

  #checkLength(name: string, values: Float32Array): void {
    const { length } = this.#model.table;
    this.#check(values.length === length, `'${name}' must hold ${length} values: current value is ${values.length}`);
  }

  #vector(vector: StageVector): Float64Array {
    const { first, second } = this.#optimizer;
    return { parameters: this.#model.parameters, firstMoments: first, secondMoments: second }[vector];
  }

  #checkPart(vector: StageVector, { offset, length }: { offset: number; length: number }): void {
    const end = this.#model.table.length;
    const isInside = Number.isInteger(offset) && offset >= 0 && offset + length <= end;
    this.#check(
      isInside,
      `a part of ${vector} must lie in 0 to ${end}: current value is ${offset} to ${offset + length}`,
    );
  }

  #checkIds(name: string, ids: Uint32Array): void {
    const rows = rowsOf(this.spec);
    const { vocabSize } = this.spec.model;
    this.#check(ids.length === rows, `'${name}' must hold ${rows} ids: current value is ${ids.length}`);
    const outside = ids.find((id) => id >= vocabSize);
    this.#check(outside === undefined, `every id of '${name}' must be below ${vocabSize}: current value is ${outside}`);
  }

  #checkTail(call: string): void {
    this.#check(
      this.spec.wireOut === null,
      `'${call}' must be asked of the tail: this is stage ${this.spec.index} of ${this.spec.count}`,
    );
  }

  #outgoing(call: string, wire: Wire | null): Wire {
    assert(
      wire !== null,
      `Cannot compute stage ${this.spec.index} as '${call}' must not be asked of the tail: use 'turnaround'`,
    );
    return wire;
  }

  #decode(name: string, wire: Wire, bytes: Uint8Array): Float32Array {
    const expected = wireBytes(wire);
    this.#check(bytes.length === expected, `'${name}' must be ${expected} bytes: current value is ${bytes.length}`);
    return decodeWire(wire, bytes);
  }

  #passInput(input: StageInput): PassInput {
    const { input: wire } = this.#wires;
    const wanted = wire === null ? "tokens" : "wire";
    this.#check(input.type === wanted, `'input' must be of type '${wanted}': current value is '${input.type}'`);
    if (input.type === "tokens") {
      this.#checkIds("tokens", input.tokens);
      return input;
    }
    assert(wire !== null, "a stage that takes a wire has an incoming wire");
    return { type: "values", values: Float64Array.from(this.#decode("wire", wire, input.wire)) };
  }

  #encodeGradient(gradient: Float64Array | null): Uint8Array | null {
    const { inputGradient } = this.#wires;
    if (gradient === null || inputGradient === null) return null;
    return encodeWire(inputGradient, Float32Array.from(gradient));
  }
}
