/** A device for tests that decide when it may go on. */

import type { ComputeHost } from "../../../cli/device/compute_host.ts";
import { processor } from "../../lab/world/devices.ts";

/** The processor, which waits where a test asks it to. */
export function heldUp(hold: () => Promise<unknown> | null): ComputeHost {
  return {
    ...processor,
    openStage: async (spec) => {
      const stage = await processor.openStage(spec);
      const forward = stage.forward.bind(stage);
      stage.forward = async (input) => {
        await hold();
        return await forward(input);
      };
      return stage;
    },
  };
}
