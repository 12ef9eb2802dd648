/** Assertions for our own bugs, also in production: a failed one stops the process. Remote errors are a `Fault`. */

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

export function present<T>(value: T | undefined | null, rule: string): T {
  assert(value !== undefined && value !== null, rule);
  return value;
}
