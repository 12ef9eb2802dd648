/**
 * Assertions for our own bugs. They stay on in production: a failed one stops the process.
 * Remote input never reaches here; it becomes a `Fault` (core/fault.ts).
 */

export class AssertionFailure extends Error {
  override name = "AssertionFailure";
}

export function assert(condition: unknown, rule: string): asserts condition {
  if (!condition) throw new AssertionFailure(rule);
}

/** Closes a switch over a discriminated union: a missing case does not compile. */
export function unreachable(value: never): never {
  throw new AssertionFailure(`Unreachable case: ${JSON.stringify(value)}`);
}

/** The value; stops the process if our own bookkeeping lost it. */
export function present<T>(value: T | undefined | null, rule: string): T {
  assert(value !== undefined && value !== null, rule);
  return value;
}
