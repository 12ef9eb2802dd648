/** A device for tests that decide when it may go on. */

import type { ComputeHost } from "../../../cli/device/compute_host.ts";
import { referenceHost } from "../../lab/world/devices.ts";

/** Reference compute that waits where a test asks it to. */
export function heldUp(hold: () => Promise<unknown> | null): ComputeHost {
  const host = referenceHost();
  return {
    ...host,
    openStage: async (spec) => {
      const stage = await host.openStage(spec);
      const forward = stage.forward.bind(stage);
      stage.forward = async (input) => {
        await hold();
        return await forward(input);
      };
      return stage;
    },
  };
}
