/**
 * Role machines under watch: the whole state is checked after steps; the orchestrator's events are reported before theirs.
 *
 * Production checks the state at ticks, for a share of its time; here the watch says when a check is due. Ticks must clear
 * deadlines: one that does not would tick for ever.
 */

import { assert } from "../../../../core/assert.ts";
import type { OrchestratorMachine } from "../../../../cli/orchestrator/hub/hub_runtime.ts";
import type { Machine } from "../../../../core/protocol/machine.ts";
import type { HubWatch } from "./hub_watch.ts";
import type { NodeWatch } from "./node_watch.ts";

const mostTicksAtOnce = 1000;

export function watchedMachine(machine: OrchestratorMachine, watch: HubWatch): OrchestratorMachine {
  let lastTickMs = -1;
  let ticksAtOnce = 0;
  return {
    step(state, event, nowMs) {
      if (event.type === "tick") {
        ticksAtOnce = nowMs === lastTickMs ? ticksAtOnce + 1 : 0;
        lastTickMs = nowMs;
        assert(ticksAtOnce < mostTicksAtOnce, `A tick must clear the deadline of ${machine.nextDeadlineMs(state)} ms`);
      }
      watch.onEvent(event, state);
      const effects = machine.step(state, event, nowMs);
      if (watch.isCheckDue()) machine.assertInvariants(state);
      return effects;
    },
    nextDeadlineMs: (state) => machine.nextDeadlineMs(state),
    assertInvariants() {}, // done after steps
  };
}

export function watchedNode<State, Event, Effect>(
  machine: Machine<State, Event, Effect>,
  { watch, onStep }: { watch: NodeWatch; onStep?: (event: Event, effects: readonly Effect[]) => void },
): Machine<State, Event, Effect> {
  return {
    step(state, event, nowMs) {
      const effects = machine.step(state, event, nowMs);
      onStep?.(event, effects);
      if (watch.isCheckDue()) machine.assertInvariants(state);
      return effects;
    },
    nextDeadlineMs: (state) => machine.nextDeadlineMs(state),
    assertInvariants() {}, // done after steps
  };
}
