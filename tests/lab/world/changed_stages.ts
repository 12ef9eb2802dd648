/** A device whose stages do some things in another way. */

import type { StageCompute } from "../../../gpu/compute.ts";
import type { ComputeHost, HostedStage } from "../../../cli/device/compute_host.ts";

export type Passes = Partial<Pick<StageCompute, "forward" | "backward" | "turnaround" | "evaluate" | "logitsAt">>;

/** `passesOf`: what a stage does instead of its own. */
export function changedStages(host: ComputeHost, passesOf: (stage: HostedStage) => Passes): ComputeHost {
  return {
    adapter: host.adapter,
    finish: () => host.finish(),
    async openStage(spec, options) {
      const stage = await host.openStage(spec, options);
      const passes = passesOf(stage);
      return new Proxy(stage, {
        get(target, name) {
          const member: unknown = Reflect.get(name in passes ? passes : target, name);
          return typeof member === "function" ? member.bind(target) : member;
        },
      });
    },
  };
}
