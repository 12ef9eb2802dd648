/**
 * The one shape of the three role machines (orchestrator, miner, validator).
 *
 * The same state, event and time give the same state and effects: no clock, no dice, no await, no tensor inside.
 * Deadlines are state, not timers. Effects are performed by the role drivers in cli and come back as events.
 */

export interface Machine<State, Event, Effect> {
  /** The only place state changes; never suspends, never throws for remote input. */
  step(state: State, event: Event, nowMs: number): Effect[];
  /** When to deliver `tick` at the latest; null when nothing is waited for. */
  nextDeadlineMs(state: State): number | null;
  /** Stops the process when our own bookkeeping is wrong. After every step in tests, every tick in production. */
  assertInvariants(state: State): void;
}
