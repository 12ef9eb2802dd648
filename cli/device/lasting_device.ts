/**
 * A device that is opened again when it is lost, so that its stages go on (lasting_stage.ts).
 *
 * It is given up when it is lost three times without finishing a task in between, or stops answering twice. A driver
 * that was just reset may offer no adapter for a moment, so a failed opening counts as a loss.
 */

import type { StageSpec } from "../../core/model/spec.ts";
import type { AdapterDescription, StageCompute, StageOptions } from "../../gpu/compute.ts";
import {
  ComputeError,
  type ComputeWorker,
  deviceSilent,
  isDeviceLoss,
  isDeviceSilence,
} from "../../gpu/worker_client.ts";
import type { Timers } from "../../net/timers.ts";
import type { ComputeHost, HostedStage } from "./compute_host.ts";
import { DeviceCheck, UnusableDeviceError } from "./device_check.ts";
import { type DeviceSupply, type KeptLimits, LastingStage, usualLimits } from "./lasting_stage.ts";
import { duration } from "../terminal/text/format.ts";

const firstMs = 600_000; // kernels compiled by a slow driver on a busy machine take minutes
const leastMs = 60_000; // another program may have the device for a while
const patience = 20; // times the slowest call so far

class CallWatch {
  readonly #timers: Pick<Timers, "after" | "steadyMs">;
  readonly #slowestMs = new Map<string, number>();

  constructor(timers: Pick<Timers, "after" | "steadyMs">) {
    this.#timers = timers;
  }

  async open(open: () => Promise<ComputeWorker>): Promise<ComputeWorker> {
    return this.watched(await this.#within("openDevice", open));
  }

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

export class LostDeviceError extends UnusableDeviceError {
  override name = "LostDeviceError";
}

interface DeviceLoss {
  readonly reason: string;
  readonly losses: number;
}

export interface LastingDeviceOptions {
  readonly reopen: () => Promise<ComputeWorker>;
  readonly timers: Pick<Timers, "after" | "steadyMs">;
  readonly onLoss: (loss: DeviceLoss) => void;
  /** `calls`: tasks, steps and loads that were repeated. */
  readonly onRebuilt: (stage: { spec: StageSpec; calls: number }) => void;
  readonly kept?: KeptLimits;
}

const mostLosses = 3;
const mostSilences = 2; // each costs a deadline
const pauseMs = [0, 2_000] as const; // before the next device; a driver is back from a reset within two seconds

export class LastingDevice implements ComputeHost, DeviceSupply {
  readonly kept: KeptLimits;
  readonly #options: LastingDeviceOptions;
  readonly #watch: CallWatch;
  readonly #check = new DeviceCheck();
  #worker: ComputeWorker;
  #losses = 0;
  #total = 0;
  #opening: Promise<ComputeWorker> | null = null;

  constructor(worker: ComputeWorker, options: LastingDeviceOptions) {
    this.#watch = new CallWatch(options.timers);
    this.#worker = this.#watch.watched(worker);
    this.#options = options;
    this.kept = options.kept ?? usualLimits;
  }

  get adapter(): AdapterDescription {
    return this.#worker.adapter;
  }

  get losses(): number {
    return this.#total;
  }

  async openStage(spec: StageSpec, options: StageOptions = {}): Promise<HostedStage> {
    for (;;) {
      const worker = this.#worker;
      try {
        await this.#check.pass(worker, spec);
        const stage = await worker.openStage(spec, options);
        return new LastingStage(this, { worker, stage }, { spec, options });
      } catch (error) {
        if (!isDeviceLoss(error)) throw error;
        await this.next(worker, error);
      }
    }
  }

  finish(): Promise<void> {
    return this.#worker.finish();
  }

  worked(): void {
    this.#losses = 0;
  }

  rebuilt(stage: { spec: StageSpec; calls: number }): void {
    this.#options.onRebuilt(stage);
  }

  async next(lost: ComputeWorker, loss: Error): Promise<ComputeWorker> {
    if (lost !== this.#worker) return this.#worker;
    this.#opening ??= this.#open(loss).finally(() => this.#opening = null);
    return await this.#opening;
  }

  async #open(firstLoss: Error): Promise<ComputeWorker> {
    for (let loss = firstLoss;;) {
      this.#losses += 1;
      this.#total += 1;
      if (this.#losses >= (isDeviceSilence(loss) ? mostSilences : mostLosses)) throw this.#givenUp(loss);
      this.#options.onLoss({ reason: loss.message, losses: this.#losses });
      this.#worker.close();
      await this.#pause(pauseMs[this.#losses - 1] ?? 0);
      try {
        return this.#worker = await this.#watch.open(this.#options.reopen);
      } catch (error) {
        loss = error instanceof Error ? error : new Error(String(error));
      }
    }
  }

  #pause(ms: number): Promise<void> {
    return ms === 0 ? Promise.resolve() : new Promise((resolve) => this.#options.timers.after(ms, resolve));
  }

  #givenUp({ message }: Error): LostDeviceError {
    const { name, device } = this.adapter;
    return new LostDeviceError(
      `${name} cannot carry this run: it was lost ${this.#losses} times without finishing a task in between. ` +
        `The last time: ${message}`,
      { next: device === "webgpu" ? afterGpu : afterProcessor },
    );
  }
}

const afterGpu = "Compute on the processor instead: start it again with --device cpu; or update the GPU's driver, " +
  "and if its memory ran out, let a stage take less of it: --memory SIZE";

const afterProcessor = "Free some memory and start it again, or let a stage take less of it: --memory SIZE";
