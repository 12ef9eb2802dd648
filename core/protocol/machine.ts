/**
 * The one shape of the three role machines (orchestrator, miner, validator).
 *
 * The same state, event and time give the same state and effects: no clock, no randomness, no await, no tensor inside.
 * Deadlines are state, not timers. Effects are performed by the role drivers in cli and come back as events.
 */

export interface Machine<State, Event, Effect> {
  /** The only place where state changes; never suspends, never throws for remote input. */
  step(state: State, event: Event, nowMs: number): Effect[];
  /** The latest time to deliver `tick`; null if nothing is pending. */
  nextDeadlineMs(state: State): number | null;
  /**
   * Stops the process if our own bookkeeping is wrong. Called after every step in tests, on every tick in production.
   */
  assertInvariants(state: State): void;
}
