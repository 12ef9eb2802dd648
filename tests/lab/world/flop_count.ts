/**
 * How much each role of a lab's swarm computes, in forwards of the mean stage (core/model/task_flops.ts).
 *
 * A miner's backward finds its forward's activations, a validator's only if that forward was the last thing the stage
 * computed. Optimizers, norms and the orchestrator's arbiter are not counted.
 */

import { present } from "../../../core/assert.ts";
import type { PassOptions } from "../../../gpu/compute.ts";
import type { ComputeHost } from "../../../cli/device/compute_host.ts";

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
        let last: unknown = null; // what its last pass was called, if it was a forward
        return new Proxy(stage, {
          get: (target, name) => {
            const member: unknown = Reflect.get(target, name);
            if (typeof member !== "function") return member;
            const count = forwards[role][String(name)] ?? 0;
            return (...given: unknown[]) => {
              const saved = name === "backward" && role === "validator" && isNamed(given[2], last) ? 1 : 0;
              if (count > 0) last = name === "forward" ? given[1] : null;
              this.#sums[role] += unit * (count - saved);
              return Reflect.apply(member, target, given);
            };
          },
        });
      },
    };
  }
}

/** Whether the backward is called as the forward before it. */
function isNamed(a: unknown, b: unknown): boolean {
  const [name, other] = [a, b].map((options) => (options as PassOptions | null | undefined)?.name);
  return name !== undefined && name === other;
}
