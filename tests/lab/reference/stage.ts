/**
 * The reference implementation of `StageCompute`: float64 inside, float32 parameters and optimizer state at rest,
 * encoded wires outside. Slow and plain on purpose; it is the oracle of the conformance suite and the compute of
 * machine-level tests.
 *
 * Rejects, as our bug: inputs of the wrong kind or length, ids outside the vocabulary, calls that this stage does not
 * have, and any call after `close`; the promise is rejected and nothing has changed.
 */

import { assert, present } from "../../../core/assert.ts";
import { decodeWire, encodeWire, type Wire, wireBytes, wireIds } from "../../../core/codec/wire.ts";
import type { StageSpec } from "../../../core/model/spec.ts";
import { type StageWires, stageWires } from "../../../core/model/stage_wires.ts";
import { type OptimizerState, stateLength } from "../../../core/train/optimizer.ts";
import type { AdapterDescription, StageCompute, StageInput, StageOptions, StageVector } from "../../../gpu/compute.ts";
import type { StepOptions, Turnaround } from "../../../gpu/compute.ts";
import { noSteps, VectorTable } from "../../../gpu/vector_table.ts";
import { crossEntropy, crossEntropyBackward } from "./cross_entropy.ts";
import { encodeGradient } from "./encode_gradient.ts";
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
import { referenceUpdates } from "./updates.ts";

/** A stage with all parameters zero; load them before use. */
export function createReferenceStage(spec: StageSpec, options: Pick<StageOptions, "optimizer"> = {}): StageCompute {
  return new ReferenceStage(spec, options);
}

class ReferenceStage implements StageCompute {
  readonly spec: StageSpec;
  readonly adapter: AdapterDescription = { device: "cpu", name: "float64 in TypeScript", isSoftware: true };
  readonly #wires: StageWires;
  readonly #model: StageModel;
  readonly #vectors: VectorTable;
  readonly #values: ReadonlyMap<StageVector, Float64Array>; // parameters and the optimizer's state
  #steps = 0;
  #isClosed = false;

  constructor(spec: StageSpec, { optimizer }: Pick<StageOptions, "optimizer">) {
    this.spec = spec;
    this.#wires = stageWires(spec);
    this.#model = createStageModel(spec);
    const { parameters, table } = this.#model;
    this.#vectors = new VectorTable(table, optimizer);
    const state = this.#vectors.state.map((each) => [each.name, new Float64Array(stateLength(each))] as const);
    this.#values = new Map([["parameters", parameters], ...state]);
  }

  loadParameters(parameters: Float32Array): Promise<void> {
    return this.#run(() => {
      this.#vectors.checkWhole("parameters", parameters);
      this.#model.parameters.set(parameters);
      this.#model.gradients.fill(0);
    });
  }

  readParameters(): Promise<Float32Array> {
    return this.#run(() => Float32Array.from(this.#model.parameters));
  }

  loadOptimizer(state: OptimizerState): Promise<void> {
    return this.#run(() => {
      for (const [name, values] of this.#vectors.valuesOf(state)) this.#valuesOf(name).set(values);
      this.#steps = state.steps;
    });
  }

  readOptimizer(): Promise<OptimizerState> {
    return this.#run(() => {
      const vectors: Record<string, Float32Array> = {};
      for (const { name } of this.#vectors.state) vectors[name] = Float32Array.from(this.#valuesOf(name));
      return { vectors, steps: this.#steps };
    });
  }

  writePart(vector: StageVector, { offset, values }: { offset: number; values: Float32Array }): Promise<void> {
    return this.#run(() => {
      this.#vectors.checkPart(vector, { offset, length: values.length });
      this.#valuesOf(vector).set(values, offset);
    });
  }

  readPart(vector: StageVector, part: { offset: number; length: number }): Promise<Float32Array> {
    return this.#run(() => {
      this.#vectors.checkPart(vector, part);
      return Float32Array.from(this.#valuesOf(vector).subarray(part.offset, part.offset + part.length));
    });
  }

  countSteps(): Promise<number> {
    return this.#run(() => this.#steps);
  }

  setSteps(steps: number): Promise<void> {
    return this.#run(() => void (this.#steps = steps));
  }

  forward(input: StageInput): Promise<Uint8Array> {
    return this.#run(() => {
      const wire = this.#outgoing("forward", this.#wires.output);
      const passed = this.#passInput(input);
      const { output } = stageForward(this.#model, passed);
      return encodeWire(wire, Float32Array.from(output), passed.tokens ?? null);
    });
  }

  backward(input: StageInput, gradient: Uint8Array): Promise<Uint8Array | null> {
    return this.#run(() => {
      const wire = this.#outgoing("backward", this.#wires.outputGradient);
      const dOutput = Float64Array.from(this.#decode("gradient", wire, gradient));
      const pass = stageForward(this.#model, this.#passInput(input));
      return this.#encodeGradient(stageBackward(this.#model, pass, dOutput), input);
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
        gradient: this.#encodeGradient(dInput, input),
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
      const { table, parameters, gradients } = this.#model;
      const state = { table, parameters, vectors: this.#values, steps: this.#steps };
      referenceUpdates[present(this.#vectors.optimizer, noSteps)](state, gradients, options);
      this.#steps += 1;
      gradients.fill(0);
    });
  }

  close(): void {
    this.#isClosed = true;
  }

  /** The work runs synchronously; an exception becomes the promise's rejection. */
  #run<T>(work: () => T): Promise<T> {
    return new Promise((resolve) => {
      this.#check(!this.#isClosed, "it is closed");
      resolve(work());
    });
  }

  #check(condition: boolean, rule: string): void {
    assert(condition, `Cannot compute stage ${this.spec.index}: ${rule}`);
  }

  #valuesOf(vector: StageVector): Float64Array {
    return present(this.#values.get(vector), `The stage has no vector '${vector}'`);
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
      `Cannot compute '${call}' in stage ${this.spec.index}: it is the tail, which computes only 'turnaround'`,
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
    const values = Float64Array.from(this.#decode("wire", wire, input.wire));
    return { type: "values", values, tokens: wireIds(wire, input.wire) };
  }

  #encodeGradient(gradient: Float64Array | null, input: StageInput): Uint8Array | null {
    const { inputGradient } = this.#wires;
    if (gradient === null || inputGradient === null || input.type !== "wire") return null;
    return encodeGradient(inputGradient, Float32Array.from(gradient), input.wire);
  }
}
