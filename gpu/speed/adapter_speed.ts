/** What a device can do at most, whatever our kernels achieve. */

import { type BatchSpeed, measureBatches, type Repeated } from "./batch_speed.ts";

export interface AdapterSpeed {
  /** FLOPs of float32 multiply-adds in registers. */
  readonly multiplyAdds: BatchSpeed;
  /** Bytes read and written in buffers larger than a processor's caches. */
  readonly copy: BatchSpeed;
  /** Bytes to the device, and back. */
  readonly upload: BatchSpeed;
  readonly readBack: BatchSpeed;
  readonly dispatchMicroseconds: number; // one more dispatch in a submitted program
  readonly roundTripMs: number; // including the wait for its result
}

interface AdapterPlace {
  readonly multiplyAdds: Repeated;
  readonly copy: Repeated;
  readonly upload: Repeated;
  readonly readBack: Repeated;
  readonly dispatches: Repeated;
  /** Each is a submitted dispatch and the wait for it. */
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
