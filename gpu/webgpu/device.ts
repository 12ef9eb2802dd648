/**
 * The WebGPU device of this thread: adapter choice, explicit limits, and failures that cannot be missed.
 *
 * Owns the GPUDevice. Uncaptured validation errors and a lost device are silent by default; here the first one is kept,
 * reported to `onFailure` and thrown by every later call (`throwIfFailed`). Fails to start without an adapter.
 */

import type { AdapterDescription } from "../compute.ts";

/** No adapter of the wanted kind. The text says what this machine has instead; what to do about it is the caller's to say. */
export class NoAdapterError extends Error {
  override name = "NoAdapterError";
}

const noAdapter =
  "Cannot open a WebGPU adapter as this machine must offer a Vulkan, Metal or DX12 device: none was found";

const noSoftware = "Cannot open a software driver as one must be installed: none was found";

const onlySoftware = (found: string) =>
  `Cannot open a GPU as this machine must have one with its driver: only ${found} was found, a software driver`;

/** The device stopped working after it was opened. */
export class GpuFailure extends Error {
  override name = "GpuFailure";
}

/** Requested up to what the adapter offers; the defaults (128 MiB bindings, 256 MiB buffers) are too small for a stage. */
const raisedLimits = [
  "maxBufferSize",
  "maxStorageBufferBindingSize",
  "maxComputeWorkgroupsPerDimension",
] as const;

/** What kernels may use of this device, and what the adapter could do beyond it. */
export interface DeviceFacts {
  readonly limits: DeviceLimits; // those the device was opened with
  readonly features: readonly string[]; // of the adapter; our kernels need none
}

export type DeviceLimits = Pick<GPUSupportedLimits, typeof shownLimits[number]>;

const shownLimits = [
  ...raisedLimits,
  "maxComputeInvocationsPerWorkgroup",
  "maxComputeWorkgroupStorageSize",
] as const;

export type AdapterKind = "hardware" | "software";

export interface OpenGpuOptions {
  /** Where to ask for an adapter. @default navigator.gpu */
  readonly gpu?: Pick<GPU, "requestAdapter"> | undefined;
  /** Any other kind of adapter is refused. @default any */
  readonly kind?: AdapterKind;
  /** Called once, when the device stops working. */
  readonly onFailure?: (failure: GpuFailure) => void;
}

export interface GpuDeviceOptions {
  readonly adapter: AdapterDescription;
  readonly features: readonly string[]; // of the adapter
  readonly onFailure?: ((failure: GpuFailure) => void) | undefined;
}

export class GpuDevice {
  readonly device: GPUDevice;
  readonly adapter: AdapterDescription;
  readonly features: readonly string[];
  #failure: GpuFailure | null = null;
  #closed = false;

  constructor(device: GPUDevice, { adapter, features, onFailure }: GpuDeviceOptions) {
    this.device = device;
    this.adapter = adapter;
    this.features = features;
    const fail = (message: string) => {
      if (this.#failure !== null || this.#closed) return;
      this.#failure = new GpuFailure(message);
      onFailure?.(this.#failure);
    };
    device.addEventListener("uncapturederror", (event) => {
      event.preventDefault();
      const { error } = event as GPUUncapturedErrorEvent; // Deno types the listener's argument as a plain Event
      fail(`Cannot continue computing as the GPU rejected a command: ${error.message}`);
    });
    device.lost.then((info) =>
      fail(`Cannot continue computing as the GPU device was lost: ${info.message || info.reason}`)
    );
  }

  facts(): DeviceFacts {
    const limits = Object.fromEntries(shownLimits.map((name) => [name, this.device.limits[name]]));
    return { limits: limits as DeviceLimits, features: this.features };
  }

  throwIfFailed(): void {
    if (this.#failure !== null) throw this.#failure;
  }

  close(): void {
    this.#closed = true;
    this.device.destroy();
  }
}

export async function openGpuDevice(options: OpenGpuOptions = {}): Promise<GpuDevice> {
  const gpu = "gpu" in options ? options.gpu : navigator.gpu;
  const adapter = await gpu?.requestAdapter({
    powerPreference: "high-performance",
    forceFallbackAdapter: options.kind === "software",
  }) ?? null;
  if (adapter === null) throw new NoAdapterError(options.kind === "software" ? noSoftware : noAdapter);
  const { description, device: deviceName, vendor, isFallbackAdapter } = adapter.info;
  const name = description || deviceName || vendor || "unnamed adapter";
  if (options.kind === "hardware" && isFallbackAdapter) throw new NoAdapterError(onlySoftware(name));
  const requiredLimits: Record<string, number> = {};
  for (const name of raisedLimits) requiredLimits[name] = adapter.limits[name];
  const device = await adapter.requestDevice({ requiredLimits });
  return new GpuDevice(device, {
    adapter: { device: "webgpu", name, isSoftware: isFallbackAdapter },
    features: [...adapter.features],
    onFailure: options.onFailure,
  });
}
