/** What computes in a world: the processor as for a node without a GPU, the float64 reference, and how long a pass takes. */

import { cpuAdapter, createCpuStage } from "../../../gpu/cpu/cpu_stage.ts";
import type { ComputeHost } from "../../../cli/device/compute_host.ts";
import { createReferenceStage } from "../reference/stage.ts";
import type { Clock } from "./clock.ts";

/** In this thread, as a toy's passes are shorter than the way to another. */
export const processor: ComputeHost = {
  adapter: cpuAdapter,
  openStage: createCpuStage,
  finish: () => Promise.resolve(),
};

export const referenceHost = (): ComputeHost => ({
  adapter: { device: "cpu", name: "reference", isSoftware: true },
  openStage: (spec, options) => Promise.resolve(createReferenceStage(spec, options)),
  finish: () => Promise.resolve(),
});

/** Virtual milliseconds of each pass. */
export interface PassTimes {
  readonly forward: number;
  readonly backward: number;
  readonly turnaround: number;
}

/** A backward repeats the forward, and costs twice as much itself. */
export const passTimes = (forward: number): PassTimes => ({ forward, backward: 3 * forward, turnaround: 3 * forward });

/** Every pass takes its virtual time, and no time passes while it is computed. */
export function timed(device: ComputeHost, { clock, passMs }: { clock: Clock; passMs: PassTimes }): ComputeHost {
  const times: Readonly<Record<string, number>> = { ...passMs };
  return {
    adapter: device.adapter,
    finish: () => Promise.resolve(),
    openStage: (spec, options) =>
      clock.during(async () => {
        const stage = await device.openStage(spec, options);
        return new Proxy(stage, {
          get(target, name) {
            const member: unknown = Reflect.get(target, name);
            if (typeof member !== "function" || name === "close") {
              return typeof member === "function" ? member.bind(target) : member;
            }
            const work = (given: unknown[]) => clock.during(() => Reflect.apply(member, target, given));
            const ms = times[String(name)];
            if (ms === undefined) return (...given: unknown[]) => work(given);
            return (...given: unknown[]) => clock.pass(ms).then(() => work(given));
          },
        });
      }),
  };
}
