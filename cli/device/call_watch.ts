/**
 * Deadlines for calls to a device: a driver that hangs answers nothing, and its owner would wait for ever.
 *
 * A call may take many times what the slowest one of its kind has taken, and much longer the first time, which compiles kernels. A
 * late call rejects as a loss of the device does, so the device is opened again (lasting_device.ts).
 */

import { ComputeError, type ComputeWorker, deviceSilent } from "../../gpu/worker_client.ts";
import type { StageCompute } from "../../gpu/compute.ts";
import type { Timers } from "../../net/timers.ts";
import { duration } from "../terminal/text/format.ts";

const firstMs = 600_000; // kernels compiled by a slow driver on a busy machine take minutes
const leastMs = 60_000; // whatever was measured: another program may have the device for a while
const patience = 20; // times the slowest call so far

export class CallWatch {
  readonly #timers: Pick<Timers, "after" | "steadyMs">;
  readonly #slowestMs = new Map<string, number>(); // by kind of call

  constructor(timers: Pick<Timers, "after" | "steadyMs">) {
    this.#timers = timers;
  }

  async open(open: () => Promise<ComputeWorker>): Promise<ComputeWorker> {
    return this.watched(await this.#within("openDevice", open));
  }

  /** The same worker, each of whose calls has a deadline. */
  watched(worker: ComputeWorker): ComputeWorker {
    return {
      ...worker,
      openStage: async (spec, options) =>
        this.#stage(await this.#within("openStage", () => worker.openStage(spec, options))),
      checkOperations: (specs) => this.#within("checkOperations", () => worker.checkOperations(specs)),
    };
  }

  #stage(stage: StageCompute): StageCompute {
    return new Proxy(stage, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name, target);
        if (typeof member !== "function") return member;
        if (name === "close") return member.bind(target);
        return (...given: unknown[]) => this.#within(String(name), () => Reflect.apply(member, target, given));
      },
    });
  }

  #within<T>(kind: string, call: () => Promise<T>): Promise<T> {
    const slowest = this.#slowestMs.get(kind);
    const deadlineMs = slowest === undefined ? firstMs : Math.max(leastMs, patience * slowest);
    const startMs = this.#timers.steadyMs();
    return new Promise((resolve, reject) => {
      const late = `the device has not answered for ${duration(deadlineMs)} (${kind})`;
      const cancel = this.#timers.after(deadlineMs, () => reject(new ComputeError(deviceSilent, late)));
      call().then((value) => {
        this.#slowestMs.set(kind, Math.max(slowest ?? 0, this.#timers.steadyMs() - startMs));
        resolve(value);
      }, reject).finally(cancel);
    });
  }
}
