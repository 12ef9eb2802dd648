/**
 * How much each role of a lab's swarm computes, in forwards of the mean stage (core/model/task_flops.ts).
 *
 * A miner's backward finds its forward's activations; a validator's has to compute them first. Optimizers, norms and the hub's
 * referee are not counted.
 */

import { present } from "../../core/assert.ts";
import type { ComputeHost } from "../roles/compute_host.ts";

type Role = "miner" | "validator";

const forwards: Readonly<Record<Role, Readonly<Record<string, number>>>> = {
  miner: { forward: 1, backward: 2, turnaround: 3 },
  validator: { forward: 1, backward: 3, turnaround: 3, evaluate: 1 },
};

export class FlopCount {
  readonly #units: readonly number[]; // of a forward of each stage
  readonly #sums: Record<Role, number> = { miner: 0, validator: 0 };

  constructor(units: readonly number[]) {
    this.#units = units;
  }

  /** What validators computed, as a share of what miners did; null: these did nothing. */
  get validatorShare(): number | null {
    const { miner, validator } = this.#sums;
    return miner === 0 ? null : validator / miner;
  }

  /** The same host; its passes are counted. */
  of(role: Role, host: ComputeHost): ComputeHost {
    return {
      ...host,
      openStage: async (spec, options) => {
        const stage = await host.openStage(spec, options);
        const unit = present(this.#units[spec.index], "every stage has a cost");
        return new Proxy(stage, {
          get: (target, name) => {
            const member: unknown = Reflect.get(target, name);
            if (typeof member !== "function") return member;
            const count = unit * (forwards[role][String(name)] ?? 0);
            return (...given: unknown[]) => {
              this.#sums[role] += count;
              return Reflect.apply(member, target, given);
            };
          },
        });
      },
    };
  }
}
