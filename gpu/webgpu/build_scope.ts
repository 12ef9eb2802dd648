/**
 * The errors of building a stage, from making its buffers to binding them. Uncaptured, they would fail the device for all of
 * its stages; here they fail the stage alone.
 *
 * An adapter's limits are promises about single buffers, not about its memory: SwiftShader allows buffers of 1 GiB and gives
 * none of that size. Building is one piece of synchronous work, so nobody else's errors end up here.
 */

export class BuildScope {
  readonly #device: GPUDevice;
  #isOpen = true;

  constructor(device: GPUDevice) {
    this.#device = device;
    device.pushErrorScope("validation"); // what a missing buffer makes of later commands
    device.pushErrorScope("out-of-memory");
  }

  /** The first error since the beginning, of memory if there is one; null: all is built. */
  async end(): Promise<GPUError | null> {
    if (!this.#isOpen) return null;
    this.#isOpen = false;
    const popped = [this.#device.popErrorScope(), this.#device.popErrorScope()];
    const [memory, other] = await Promise.all(popped);
    return memory ?? other ?? null;
  }
}
