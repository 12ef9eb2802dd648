/** Opens the device that `--device` names, or says what a person can do if there is none. */

import { ComputeError, type ComputeWorker, openComputeWorker } from "../../gpu/worker_client.ts";
import type { TunedGemms } from "../../gpu/webgpu/tuning/tuned.ts";
import { type DeviceChoice, deviceChoices } from "../../gpu/worker_protocol.ts";
import { UserError } from "../program/errors.ts";

const mostThreads = 16; // unless more are asked for: small models have no work for them

export function threadsOf(nodes: number, cores: number = navigator.hardwareConcurrency): number {
  return Math.max(1, Math.min(mostThreads, Math.floor(cores / nodes)));
}

interface DeviceOptions {
  readonly isShared?: boolean;
  readonly threads?: number | undefined; // @default one for each core
  readonly memoryBytes?: number | null; // what each stage may take; null: all there is
  readonly tuned?: TunedGemms;
}

export async function openDevice(
  choice: string | undefined,
  { isShared = false, threads = threadsOf(1), memoryBytes = null, tuned = {} }: DeviceOptions = {},
): Promise<ComputeWorker> {
  const device = deviceChoice(choice);
  try {
    const worker = await openComputeWorker({ device, isShared, threads, tuned });
    if (memoryBytes === null) return worker;
    return { ...worker, openStage: (spec, options) => worker.openStage(spec, { ...options, memoryBytes }) };
  } catch (error) {
    if (error instanceof ComputeError && error.kind === "NoAdapterError") {
      throw new UserError(error.message, { next: withoutAdapter(device), cause: error });
    }
    throw error;
  }
}

export const deviceChoice = (text: string | undefined): DeviceChoice =>
  deviceChoices.find((name) => name === text) ?? "auto";

export function withoutAdapter(device: DeviceChoice): string {
  const driver = "install its Vulkan driver";
  const software = "on Debian or Ubuntu: apt-get install mesa-vulkan-drivers libvulkan1";
  const fix: Partial<Record<DeviceChoice, string>> = {
    gpu: `if there is a GPU, ${driver}`,
    software: `or install that driver, ${software}`,
  };
  return `Compute on the processor instead: --device cpu; ${
    fix[device] ?? `for a GPU, ${driver}; for a software driver, ${software}`
  }`;
}

export function sameDevice({ adapter: { device, isSoftware } }: ComputeWorker): DeviceChoice {
  if (device === "webgpu") return isSoftware ? "software" : "gpu";
  return device;
}

export function deviceText({ adapter: { name }, threads, reason }: ComputeWorker): string {
  const text = threads === null || threads === 1 ? name : `${name}, ${threads} threads`;
  return reason === null ? text : `${text}: ${reason}`;
}

export function deviceSentence({ adapter: { device, name, isSoftware }, threads, reason }: ComputeWorker): string {
  const places = {
    cpu: "the processor",
    webgpu: isSoftware ? `the driver ${name}` : name,
  };
  const text = `omputing on ${places[device]}${threads === null || threads === 1 ? "" : `, ${threads} threads`}`;
  return reason === null ? `C${text}` : `No GPU found: c${text}`; // only `auto` without a GPU has a reason
}
