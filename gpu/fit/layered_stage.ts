/**
 * A stage computed layer by layer, on a device with room for one, to repeat single tasks without steps. Outputs and
 * losses have the bits of the whole stage.
 */

import { type LayerSpec, layerSpecs } from "../../core/model/layer_specs.ts";
import { parameterTable, type StageSpec } from "../../core/model/spec.ts";
import type { OptimizerState } from "../../core/train/optimizer.ts";
import type { AdapterDescription, StageCompute, StageInput, StageVector, Turnaround } from "../compute.ts";

interface LayeredStageOptions {
  readonly adapter: AdapterDescription;
  /** Closed before the next one is opened. */
  readonly open: (spec: StageSpec) => Promise<StageCompute>;
  /** False saves a vector as large as the parameters. */
  readonly keepsGradients: boolean;
}

export class LayeredStage implements StageCompute {
  readonly spec: StageSpec;
  readonly adapter: AdapterDescription;
  readonly #layers: readonly LayerSpec[];
  readonly #open: LayeredStageOptions["open"];
  #parameters: Float32Array;
  readonly #gradients: Float32Array | null;

  constructor(spec: StageSpec, { adapter, open, keepsGradients }: LayeredStageOptions) {
    const { length } = parameterTable(spec);
    this.spec = spec;
    this.adapter = adapter;
    this.#layers = layerSpecs(spec);
    this.#open = open;
    this.#parameters = new Float32Array(0);
    this.#gradients = keepsGradients ? new Float32Array(length) : null;
  }

  /** Not copied. */
  loadParameters(parameters: Float32Array): Promise<void> {
    this.#parameters = parameters;
    return this.zeroGradients();
  }

  readParameters(): Promise<Float32Array> {
    return Promise.resolve(this.#parameters.slice());
  }

  async forward(input: StageInput): Promise<Uint8Array> {
    const inputs = await this.#inputs(input);
    return await this.#on(inputs.length - 1, (last) => last.forward(inputs.at(-1)!));
  }

  async backward(input: StageInput, gradient: Uint8Array): Promise<Uint8Array | null> {
    const inputs = await this.#inputs(input);
    return await this.#backwardFrom(inputs.length - 1, { inputs, gradient });
  }

  async turnaround(input: StageInput, targets: Uint32Array): Promise<Turnaround> {
    const inputs = await this.#inputs(input);
    const last = inputs.length - 1;
    const { lossPerSequence, gradient } = await this.#on(last, async (stage) => {
      const turned = await stage.turnaround(inputs[last]!, targets);
      await this.#keepGradients(last, stage);
      return turned;
    });
    if (gradient === null || last === 0) return { lossPerSequence, gradient };
    return { lossPerSequence, gradient: await this.#backwardFrom(last - 1, { inputs, gradient }) };
  }

  async evaluate(input: StageInput, targets: Uint32Array): Promise<Float32Array> {
    const inputs = await this.#inputs(input);
    return await this.#on(inputs.length - 1, (last) => last.evaluate(inputs.at(-1)!, targets));
  }

  async logitsAt(input: StageInput, position: number): Promise<Float32Array> {
    const inputs = await this.#inputs(input);
    return await this.#on(inputs.length - 1, (last) => last.logitsAt(inputs.at(-1)!, position));
  }

  zeroGradients(): Promise<void> {
    this.#gradients?.fill(0);
    return Promise.resolve();
  }

  gradientSquareSum(): Promise<number> {
    let sum = 0;
    const gradients = this.#kept();
    for (let i = 0; i < gradients.length; i++) sum += gradients[i]! * gradients[i]!;
    return Promise.resolve(sum);
  }

  readGradients(): Promise<Float32Array> {
    return Promise.resolve(this.#kept().slice());
  }

  readPart(_: StageVector, { offset, length }: { offset: number; length: number }): Promise<Float32Array> {
    return Promise.resolve(this.#parameters.slice(offset, offset + length));
  }

  writePart(_: StageVector, { offset, values }: { offset: number; values: Float32Array }): Promise<void> {
    this.#parameters.set(values, offset);
    return Promise.resolve();
  }

  countSteps(): Promise<number> {
    return Promise.resolve(0);
  }

  setSteps(): Promise<void> {
    return refuse();
  }

  loadOptimizer(): Promise<void> {
    return refuse();
  }

  readOptimizer(): Promise<OptimizerState> {
    return refuse();
  }

  step(): Promise<void> {
    return refuse();
  }

  close(): void {
    this.#parameters = new Float32Array(0);
  }

  /** Per layer: the stage's own, then the residual stream. */
  async #inputs(first: StageInput): Promise<StageInput[]> {
    const inputs = [first];
    for (const at of this.#layers.keys()) {
      if (at === this.#layers.length - 1) break;
      inputs.push({ type: "wire", wire: await this.#on(at, (stage) => stage.forward(inputs[at]!)) });
    }
    return inputs;
  }

  async #backwardFrom(
    last: number,
    { inputs, gradient: given }: { inputs: readonly StageInput[]; gradient: Uint8Array },
  ): Promise<Uint8Array | null> {
    let gradient: Uint8Array | null = given;
    for (let at = last; at >= 0 && gradient !== null; at--) {
      const above: Uint8Array = gradient;
      gradient = await this.#on(at, async (stage) => {
        const below = await stage.backward(inputs[at]!, above);
        await this.#keepGradients(at, stage);
        return below;
      });
    }
    return gradient;
  }

  async #on<T>(at: number, use: (stage: StageCompute) => Promise<T>): Promise<T> {
    const { spec, table, places } = this.#layers[at]!;
    const own = new Float32Array(table.length);
    for (const { from, to, size } of places) own.set(this.#parameters.subarray(from, from + size), to);
    const stage = await this.#open(spec);
    try {
      await stage.loadParameters(own);
      return await use(stage);
    } finally {
      stage.close();
    }
  }

  async #keepGradients(at: number, stage: StageCompute): Promise<void> {
    const sums = this.#gradients;
    if (sums === null) return;
    const own = await stage.readGradients();
    for (const { from, to, size } of this.#layers[at]!.places) {
      for (let i = 0; i < size; i++) sums[from + i]! += own[to + i]!;
    }
  }

  #kept(): Float32Array {
    if (this.#gradients === null) throw new Error("This stage forgets its gradients");
    return this.#gradients;
  }
}

const refuse = () => Promise.reject(new Error("A stage that is computed layer by layer takes no steps"));
