/** A stage's flat vectors for callers. Wrong names and lengths are our bug. */

import { assert, present } from "../core/assert.ts";
import type { ParameterTable } from "../core/model/spec.ts";
import { type OptimizerState, stateLength, type StateVector } from "../core/train/optimizer.ts";
import { defaultOptimizer, type OptimizerName } from "../core/config/optimizer_names.ts";
import { optimizers } from "../core/train/optimizers.ts";
import type { StageVector } from "./compute.ts";

export const noSteps = "Cannot step as the stage was opened without an optimizer";

export class VectorTable {
  readonly optimizer: OptimizerName | null;
  readonly state: readonly StateVector[];
  readonly #lengths: ReadonlyMap<StageVector, number>;

  constructor(table: ParameterTable, optimizer: OptimizerName | null = defaultOptimizer) {
    this.optimizer = optimizer;
    this.state = optimizer === null ? [] : optimizers[optimizer].stateVectors(table);
    const lengths = this.state.map((vector) => [vector.name, stateLength(vector)] as const);
    this.#lengths = new Map([["parameters", table.length], ...lengths]);
  }

  lengthOf(vector: StageVector): number {
    return present(this.#lengths.get(vector), `Cannot use '${vector}' as the stage has no vector of this name`);
  }

  checkPart(vector: StageVector, { offset, length }: { offset: number; length: number }): void {
    const end = this.lengthOf(vector);
    assert(
      Number.isInteger(offset) && offset >= 0 && offset + length <= end,
      `Cannot use a part of '${vector}' as it must lie in 0 to ${end}: current value is ${offset} to ${
        offset + length
      }`,
    );
  }

  checkWhole(vector: StageVector, values: Float32Array): void {
    const length = this.lengthOf(vector);
    assert(
      values.length === length,
      `Cannot load '${vector}' as it must hold ${length} values: current value is ${values.length}`,
    );
  }

  valuesOf({ vectors }: OptimizerState): readonly (readonly [StageVector, Float32Array])[] {
    const names = Object.keys(vectors);
    assert(
      names.length === this.state.length,
      `Cannot load a state as its vectors must be ${this.state.map(({ name }) => name)}: current value is ${names}`,
    );
    return this.state.map(({ name }) => {
      const values = present(vectors[name], `Cannot load a state as it must have '${name}': current value is ${names}`);
      this.checkWhole(name, values);
      return [name, values];
    });
  }
}
