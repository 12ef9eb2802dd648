/** `/status`, read by cli/node/find/run_status.ts. Published field names stay. */

import { presentNodes, type RunView } from "../../../core/view/view.ts";
import type { ConsumerContext, ProjectionConsumer } from "../consumer.ts";
import type { StampedRecord } from "../../../core/view/view_record.ts";

export function openStatusPage({ view, refused, identity }: ConsumerContext): ProjectionConsumer {
  return { pages: { "/status": () => Response.json({ ...statusOf(view), ...identity, refused: refused() }) } };
}

function statusOf(view: RunView): Record<string, unknown> {
  const { facts, step, round, isPaused, isPausedByOwner, lostRounds } = view;
  return {
    name: facts.run,
    size: facts.size,
    phase: phaseOf(view),
    step,
    steps: facts.steps,
    round,
    nodes: presentNodes(view).length,
    isPaused,
    isPausedByOwner,
    isHalted: lostRounds.isHalted,
    roundsLost: lostRounds.count,
  };
}

/** After the last merge only the checkpoint and evaluations remain. */
function phaseOf({ phase, step, facts }: RunView): string {
  return phase === "training" && step >= facts.steps ? "closing" : phase;
}

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
