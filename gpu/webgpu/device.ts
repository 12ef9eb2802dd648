/**
 * The WebGPU device of this thread. By default, uncaptured errors and a lost device are silent, and calls compute
 * nothing. So the first failure is kept, reported to `onFailure`, thrown by every later call (`throwIfFailed`) and ends
 * every wait (`whileWorking`).
 */

import type { AdapterDescription } from "../compute.ts";

export class NoAdapterError extends Error {
  override name = "NoAdapterError";
}

const noAdapter = "Cannot open a WebGPU adapter: this machine offers no Vulkan, Metal or DX12 device";

const noSoftware = "Cannot open a software driver: none is installed";

const onlySoftware = (found: string) => `Cannot open a GPU: only ${found} was found, a software driver`;

const noDevice = (adapter: string, reason: string) =>
  `Cannot open ${adapter}: its driver gives no device with the limits that it promises: ${reason}`;

/** A wrong command of ours, unless it is a `DeviceLostError`. */
export class GpuFailure extends Error {
  override name = "GpuFailure";
}

/** The driver was reset or ran out of memory. A new device may work. */
export class DeviceLostError extends GpuFailure {
  override name = "DeviceLostError";
}

/**
 * The defaults (128 MiB bindings, 256 MiB buffers) are too small for a stage, and a workgroup's 16 KiB for the largest
 * tiles.
 */
const raisedLimits = [
  "maxBufferSize",
  "maxStorageBufferBindingSize",
  "maxComputeWorkgroupsPerDimension",
  "maxComputeWorkgroupStorageSize",
] as const;

export interface DeviceFacts {
  readonly limits: DeviceLimits; // as opened
  readonly features: readonly string[]; // of the adapter; our kernels need none
}

export type DeviceLimits = Pick<GPUSupportedLimits, typeof shownLimits[number]>;

const shownLimits = [...raisedLimits, "maxComputeInvocationsPerWorkgroup"] as const;

export type AdapterKind = "hardware" | "software";

export interface OpenGpuOptions {
  /** @default navigator.gpu */
  readonly gpu?: Pick<GPU, "requestAdapter"> | undefined;
  /** @default any */
  readonly kind?: AdapterKind;
  /** If the adapter has them. @default without */
  readonly timestamps?: boolean;
  readonly onFailure?: (failure: GpuFailure) => void;
}

interface GpuDeviceOptions {
  readonly adapter: AdapterDescription;
  readonly features: readonly string[]; // of the adapter
  readonly onFailure?: ((failure: GpuFailure) => void) | undefined;
}

export class GpuDevice {
  readonly device: GPUDevice;
  readonly adapter: AdapterDescription;
  readonly features: readonly string[];
  readonly #waits = new Set<(failure: GpuFailure) => void>();
  #failure: GpuFailure | null = null;
  #closed = false;

  constructor(device: GPUDevice, { adapter, features, onFailure }: GpuDeviceOptions) {
    this.device = device;
    this.adapter = adapter;
    this.features = features;
    const fail = (failure: GpuFailure) => {
      if (this.#failure !== null || this.#closed) return;
      this.#failure = failure;
      for (const end of this.#waits) end(failure);
      onFailure?.(failure);
    };
    device.addEventListener("uncapturederror", (event) => {
      event.preventDefault();
      fail(failureOf((event as GPUUncapturedErrorEvent).error)); // Deno types the argument as a plain Event
    });
    device.lost.then(({ message, reason }) =>
      fail(new DeviceLostError(`Cannot continue computing as the GPU device was lost: ${message || reason}`))
    );
  }

  facts(): DeviceFacts {
    const limits = Object.fromEntries(shownLimits.map((name) => [name, this.device.limits[name]]));
    return { limits: limits as DeviceLimits, features: this.features };
  }

  throwIfFailed(): void {
    if (this.#failure !== null) throw this.#failure;
  }

  /** Rejects with this device's failure, if any. */
  async whileWorking<T>(promise: Promise<T>): Promise<T> {
    const { promise: failed, reject } = Promise.withResolvers<never>();
    this.#waits.add(reject);
    try {
      const value = await Promise.race([promise, failed]);
      this.throwIfFailed();
      return value;
    } catch (error) {
      await new Promise((resolve) => setTimeout(resolve)); // a loss is reported after the rejections that it causes
      this.throwIfFailed();
      throw error;
    } finally {
      this.#waits.delete(reject);
    }
  }

  close(): void {
    this.#closed = true;
    this.device.destroy();
  }
}

/** Failures of memory or driver, otherwise our rejected command. */
function failureOf(error: GPUError): GpuFailure {
  const { message } = error;
  if (error instanceof GPUOutOfMemoryError) {
    return new DeviceLostError(`Cannot continue computing as the GPU's memory ran out: ${message}`);
  }
  if (error instanceof GPUInternalError) {
    return new DeviceLostError(`Cannot continue computing as the GPU's driver failed: ${message}`);
  }
  return new GpuFailure(`Cannot continue computing as the GPU rejected a command: ${message}`);
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
  const requiredFeatures = ["timestamp-query" as const].filter((name) =>
    options.timestamps && adapter.features.has(name)
  );
  const device = await adapter.requestDevice({ requiredLimits, requiredFeatures }).catch((error) => {
    throw new NoAdapterError(noDevice(name, error instanceof Error ? error.message : String(error)));
  });
  return new GpuDevice(device, {
    adapter: { device: "webgpu", name, isSoftware: isFallbackAdapter },
    features: [...adapter.features],
    onFailure: options.onFailure,
  });
}
