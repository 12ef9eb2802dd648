/**
 * The one shape of the role machines: the same state, event and time give the same effects. No clock, randomness, await
 * or tensor inside; the drivers in cli perform effects and answer with events.
 */

export interface Machine<State, Event, Effect> {
  /** Changes the state; never throws for remote input. */
  step(state: State, event: Event, nowMs: number): Effect[];
  /** When to deliver `tick` at the latest; null: nothing is pending. */
  nextDeadlineMs(state: State): number | null;
  /** Runs after every step in tests, on every tick in production. */
  assertInvariants(state: State): void;
}
