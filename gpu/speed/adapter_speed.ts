/** What a device can do at most, and what every use of it costs, whatever our kernels make of it. */

import { type BatchSpeed, measureBatches, type Repeated } from "./batch_speed.ts";

export interface AdapterSpeed {
  /** FLOPs of float32 multiply-adds in registers: no product of matrices is faster. */
  readonly multiplyAdds: BatchSpeed;
  /** Bytes read and written by a copy in the device's own memory, of buffers larger than a processor's caches. */
  readonly copy: BatchSpeed;
  /** Bytes from this program's memory to the device's, and back. */
  readonly upload: BatchSpeed;
  readonly readBack: BatchSpeed;
  readonly dispatchMicroseconds: number; // of one more dispatch in a submitted program
  readonly roundTripMs: number; // of a dispatch whose result is waited for
}

export interface AdapterPlace {
  readonly multiplyAdds: Repeated;
  readonly copy: Repeated;
  readonly upload: Repeated;
  readonly readBack: Repeated;
  readonly dispatches: Repeated;
  /** A submitted dispatch and the wait for it, each time. */
  readonly roundTrips: Repeated;
}

const figures = 6;

export async function measureAdapterSpeed(place: AdapterPlace, budgetMs: number): Promise<AdapterSpeed> {
  const measure = async (repeated: Repeated) => {
    await repeated.run(1);
    return await measureBatches(repeated, budgetMs / figures);
  };
  const [multiplyAdds, copy] = [await measure(place.multiplyAdds), await measure(place.copy)];
  const [upload, readBack] = [await measure(place.upload), await measure(place.readBack)];
  const [dispatches, roundTrips] = [await measure(place.dispatches), await measure(place.roundTrips)];
  return {
    ...{ multiplyAdds, copy, upload, readBack },
    dispatchMicroseconds: 1e6 / dispatches.perSecond,
    roundTripMs: 1000 / roundTrips.perSecond,
  };
}
