/**
 * `/status` at the orchestrator's port: the run's progress, for anyone who asks. Field names once published stay; a node reads them with
 * cli/node/find/run_status.ts.
 */

import { presentNodes, type RunView } from "../../../core/view/view.ts";
import type { ConsumerContext, ProjectionConsumer } from "../consumer.ts";

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

/** After the last merge the run only waits for its checkpoint and last evaluations. */
function phaseOf({ phase, step, facts }: RunView): string {
  return phase === "training" && step >= facts.steps ? "closing" : phase;
}
