/**
 * `StageCompute` over messages to a compute worker. A call that fails there rejects with its text; a worker that stops
 * rejects all calls, now and later. Arguments are copied.
 */

import { unreachable } from "../core/assert.ts";
import { parameterTable, type StageSpec } from "../core/model/spec.ts";
import type { AdapterDescription, StageCompute, StageOptions } from "./compute.ts";
import type { HelperOrder } from "./cpu/threads/helper_messages.ts";
import { HelperThreads } from "./cpu/threads/helper_threads.ts";
import { ThreadError } from "./cpu/threads/job_board.ts";
import { type DeviceFacts, DeviceLostError } from "./webgpu/device.ts";
import type { AdapterSpeed } from "./speed/adapter_speed.ts";
import type { AttentionRequest } from "./speed/attention_speed.ts";
import type { BatchSpeed } from "./speed/batch_speed.ts";
import type { GemmRequest, GemmSpeed } from "./speed/gemm_speed.ts";
import type { OperationCheck } from "./trace/operation_check.ts";
import { VectorTable } from "./vector_table.ts";
import { OutOfMemoryError } from "./cpu/layout/memory.ts";
import type { GemmTuning, TuneRequest } from "./webgpu/tuning/tune_gemm.ts";
import type { TunedGemms } from "./webgpu/tuning/tuned.ts";
import { TooLargeError, TooLittleMemoryError } from "./fit/too_large.ts";
import type {
  ComputeRequest,
  ComputeResponse,
  DeviceChoice,
  DeviceRequest,
  StageMethod,
  StageResult,
} from "./worker_protocol.ts";
import { ownedCopy, type StageArguments } from "./worker_protocol.ts";
import { type StageLink, WorkerStage } from "./worker_stage.ts";

/** `kind`: the error's name in the worker, e.g. `GpuFailure`. */
export class ComputeError extends Error {
  override name = "ComputeError";
  readonly kind: string;

  constructor(kind: string, message: string) {
    super(message);
    this.kind = kind;
  }
}

/** For all calls after the worker ended by itself. */
const workerCrashed = "WorkerCrashed";

export const deviceSilent = "DeviceSilent";

const lossKinds = [DeviceLostError.name, ThreadError.name, workerCrashed, deviceSilent];

/** The same work may succeed on a new device. */
export function isDeviceLoss(error: unknown): error is Error {
  if (error instanceof DeviceLostError || error instanceof ThreadError) return true;
  return error instanceof ComputeError && lossKinds.includes(error.kind);
}

export const isDeviceSilence = (error: unknown): boolean =>
  error instanceof ComputeError && error.kind === deviceSilent;

export function isTooLarge(error: unknown): error is Error {
  if (tooLargeErrors.some((each) => error instanceof each)) return true;
  return error instanceof ComputeError && tooLargeErrors.some(({ name }) => name === error.kind);
}

const tooLargeErrors = [TooLargeError, TooLittleMemoryError, OutOfMemoryError];

export interface ComputeWorker {
  readonly adapter: AdapterDescription;
  readonly threads: number | null; // per stage; null: not the processor
  readonly reason: string | null; // of `auto`
  openStage(spec: StageSpec, options?: StageOptions): Promise<StageCompute>;
  /** Null: the processor has no limits but memory. */
  inspect(): Promise<DeviceFacts | null>;
  measureGemm(request: GemmRequest): Promise<GemmSpeed>;
  measureAttention(request: AttentionRequest): Promise<BatchSpeed>;
  measureAdapter(budgetMs: number): Promise<AdapterSpeed>;
  /** Null: the kernels have no settings. */
  tune(request: TuneRequest): Promise<GemmTuning | null>;
  checkOperations(specs: readonly StageSpec[]): Promise<OperationCheck>;
  /**
   * Lets calls in flight finish and refuses later ones, before the process exits. On llvmpipe, 12 of 112 processes that
   * terminated the worker or destroyed its device just before exit crashed in the driver, and none of 112 that left it
   * idle.
   */
  finish(): Promise<void>;
  close(): void;
}

export async function openComputeWorker(
  { device, isShared = false, threads = 1, tuned = {} }: {
    device: DeviceChoice;
    isShared?: boolean;
    threads?: number;
    tuned?: TunedGemms;
  },
): Promise<ComputeWorker> {
  const link = new WorkerLink();
  try {
    const { adapter, reason, threads: own } = await link.openDevice({ device, isShared, threads, tuned });
    let opened = 0;
    return {
      adapter,
      threads: own,
      reason,
      openStage: async (spec, options = {}) => {
        const stage = opened++;
        await link.openStage(stage, { spec, options });
        return new WorkerStage(link, {
          stage,
          spec,
          adapter,
          vectors: new VectorTable(parameterTable(spec), options.optimizer),
        });
      },
      inspect: () => link.inspect(),
      measureGemm: (request) => link.measure({ type: "measureGemm", ...request }) as Promise<GemmSpeed>,
      measureAttention: (request) => link.measure({ type: "measureAttention", ...request }) as Promise<BatchSpeed>,
      measureAdapter: (budgetMs) => link.measure({ type: "measureAdapter", budgetMs }) as Promise<AdapterSpeed>,
      tune: (request) => link.measure({ type: "tune", ...request }) as Promise<GemmTuning | null>,
      checkOperations: (specs) => link.measure({ type: "checkOperations", specs }) as Promise<OperationCheck>,
      finish: () => link.finish(),
      close: () => link.stop("the compute worker was closed"),
    };
  } catch (error) {
    await link.finish(); // the process is probably about to exit: see `finish`
    throw error;
  }
}

const restMs = 3_000; // a hanging device is not waited for longer

/** A bundle has its worker as JavaScript beside it. */
function workerUrl(): URL {
  return import.meta.url.endsWith(".js")
    ? new URL("./worker.js", import.meta.url)
    : new URL("./worker.ts", import.meta.url);
}

type Unnumbered<T> = T extends { id: number } ? Omit<T, "id"> : never;

type OpenedDevice = Pick<ComputeWorker, "adapter" | "threads" | "reason">;

class WorkerLink implements StageLink {
  /** WebGPU needs no permission, so the thread that computes on strangers' bytes gets none. */
  readonly #worker = new Worker(workerUrl(), { type: "module", name: "compute", deno: { permissions: "none" } });
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>();
  readonly #helpers = new HelperThreads();
  #sent = 0;
  #stopped: ComputeError | null = null;
  #isFinishing = false;

  constructor() {
    this.#worker.onmessage = ({ data }: MessageEvent<ComputeResponse>) => this.#receive(data);
    this.#worker.onerror = (event) => {
      event.preventDefault(); // otherwise an error in the worker ends this process
      this.stop(`the compute worker stopped: ${event.message}`, workerCrashed);
    };
    this.#worker.onmessageerror = () =>
      this.stop("the compute worker sent a message that cannot be read", workerCrashed);
  }

  openDevice(request: DeviceRequest): Promise<OpenedDevice> {
    return this.#request({ type: "openDevice", ...request }) as Promise<OpenedDevice>;
  }

  async openStage(stage: number, what: { spec: StageSpec; options: StageOptions }): Promise<void> {
    await this.#request({ type: "openStage", stage, ...what });
  }

  callStage<M extends StageMethod>(stage: number, method: M, args: StageArguments<M>): Promise<StageResult<M>> {
    return this.#request({ type: "callStage", stage, method, arguments: args }) as Promise<StageResult<M>>;
  }

  async closeStage(stage: number): Promise<void> {
    if (this.#stopped === null) await this.#request({ type: "closeStage", stage });
  }

  inspect(): Promise<DeviceFacts | null> {
    return this.#request({ type: "inspect" }) as Promise<DeviceFacts | null>;
  }

  measure(
    request: Extract<Unnumbered<ComputeRequest>, { type: `measure${string}` | "tune" | "checkOperations" }>,
  ): Promise<unknown> {
    return this.#request(request);
  }

  async finish(): Promise<void> {
    if (this.#stopped !== null) return;
    const rested = this.#request({ type: "rest" }).catch(() => {
      // it has stopped meanwhile
    });
    this.#isFinishing = true;
    const late = Promise.withResolvers<void>();
    const timer = setTimeout(late.resolve, restMs);
    await Promise.race([rested, late.promise]);
    clearTimeout(timer);
  }

  stop(reason: string, kind = "WorkerStopped"): void {
    if (this.#stopped !== null) return;
    this.#stopped = new ComputeError(kind, reason);
    this.#helpers.close(); // first: a worker that waits for them does not notice its end
    this.#worker.terminate();
    for (const { reject } of this.#waiting.values()) reject(this.#stopped);
    this.#waiting.clear();
  }

  #request(request: Unnumbered<ComputeRequest>): Promise<unknown> {
    if (this.#stopped !== null) return Promise.reject(this.#stopped);
    if (this.#isFinishing) {
      return Promise.reject(new ComputeError("WorkerStopped", "the compute worker takes no more calls"));
    }
    const id = this.#sent++;
    const waiting = Promise.withResolvers<unknown>();
    this.#waiting.set(id, waiting);
    const transfer: ArrayBuffer[] = [];
    this.#worker.postMessage(ownedCopy({ ...request, id }, transfer), transfer);
    return waiting.promise;
  }

  async #startHelpers(id: number, order: HelperOrder): Promise<void> {
    const problem = await this.#helpers.start(order).then(() => null, ({ message }: Error) => message);
    this.#worker.postMessage({ type: "helpersStarted", id, problem } satisfies ComputeRequest);
  }

  #receive(response: ComputeResponse): void {
    if (response.type === "startHelpers") return void this.#startHelpers(response.id, response.order);
    const waiting = this.#waiting.get(response.id);
    if (waiting === undefined) return; // closed meanwhile
    this.#waiting.delete(response.id);
    switch (response.type) {
      case "deviceOpened":
        return waiting.resolve(response satisfies OpenedDevice);
      case "finished":
        return waiting.resolve(response.result);
      case "failed":
        return waiting.reject(new ComputeError(response.name, response.message));
      default:
        return unreachable(response);
    }
  }
}
