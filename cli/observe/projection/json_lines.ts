/** The run's records as the lines of `--json`, one line per record, under the published names. */

import type { StampedRecord } from "../../../core/view/view_record.ts";
import type { ConsumerContext, ProjectionConsumer } from "../consumer.ts";

export function openJsonLines({ output }: ConsumerContext): ProjectionConsumer {
  return {
    onRecord({ record }: StampedRecord) {
      switch (record.type) {
        case "opened":
        case "deviceFound":
        case "chain":
        case "noted": // their sources print events of their own
          return;
        case "takenUp": {
          const { type, step, round } = record;
          return step > 0 ? output.event({ type, step, round }) : undefined;
        }
        default:
          return output.event(record);
      }
    },
  };
}
