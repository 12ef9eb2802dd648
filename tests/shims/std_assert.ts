/**
 * The assertions of `@std/assert` that our tests use, with the same call shapes, over `node:assert/strict`.
 *
 * Exists because the genuine package lives on a registry that not every build machine reaches; `jsr.json` is a second
 * import map that puts the genuine one in its place. Keep this file to what is used: a call that the genuine package
 * does not take does not belong here.
 */

import strict from "node:assert/strict";
import { inspect } from "node:util";

/** What every failed assertion throws; the runner prints its message. */
export class AssertionError extends Error {
  override name = "AssertionError";
}

/** `never[]` takes a constructor of any arguments. */
type Class<T> = abstract new (...args: never[]) => T;
type ErrorClass<E extends Error> = new (...args: never[]) => E;

function show(value: unknown): string {
  return inspect(value, { depth: 6, maxArrayLength: 40, maxStringLength: 2_000 });
}

function because(message: string | undefined): string {
  return message === undefined ? "." : `: ${message}`;
}

export function fail(message?: string): never {
  throw new AssertionError(`Failed assertion${because(message)}`);
}

export function assert(condition: unknown, message = ""): asserts condition {
  if (!condition) throw new AssertionError(message);
}

/** Deep and strict: prototypes, `NaN`, map and set contents, typed arrays count. */
export function assertEquals<T>(actual: T, expected: T, message?: string): void {
  try {
    strict.deepStrictEqual(actual, expected);
  } catch (error) {
    const difference = error instanceof Error ? error.message : String(error);
    throw new AssertionError(`Values are not equal${because(message)}\n${difference}`);
  }
}

export function assertNotEquals<T>(actual: T, expected: T, message?: string): void {
  try {
    strict.notDeepStrictEqual(actual, expected);
  } catch {
    throw new AssertionError(`Expected actual: ${show(actual)} not to be: ${show(expected)}${because(message)}`);
  }
}

/** `Object.is`, for identity. */
export function assertStrictEquals<T>(actual: unknown, expected: T, message?: string): asserts actual is T {
  if (Object.is(actual, expected)) return;
  throw new AssertionError(`Values are not strictly equal${because(message)}\n${show(actual)}\n${show(expected)}`);
}

/** `tolerance` is absolute; without it, 1e-7 of the expected value's size, at least 1e-7. */
export function assertAlmostEquals(actual: number, expected: number, tolerance?: number, message?: string): void {
  if (Object.is(actual, expected)) return;
  const allowed = tolerance ?? 1e-7 * Math.max(1, Math.abs(expected));
  const difference = Math.abs(expected - actual);
  if (difference <= allowed) return;
  throw new AssertionError(
    `Expected actual: ${actual} to be close to ${expected}: difference ${difference} is greater than ${allowed}` +
      because(message),
  );
}

export function assertExists<T>(actual: T, message?: string): asserts actual is NonNullable<T> {
  if (actual === undefined || actual === null) {
    throw new AssertionError(`Expected actual: ${show(actual)} to not be null or undefined${because(message)}`);
  }
}

export function assertInstanceOf<T>(actual: unknown, expected: Class<T>, message?: string): asserts actual is T {
  if (actual instanceof expected) return;
  throw new AssertionError(`Expected ${show(actual)} to be an instance of ${expected.name}${because(message)}`);
}

export function assertStringIncludes(actual: string, expected: string, message?: string): void {
  if (actual.includes(expected)) return;
  throw new AssertionError(`Expected actual: ${show(actual)} to contain: ${show(expected)}${because(message)}`);
}

export function assertMatch(actual: string, expected: RegExp, message?: string): void {
  if (expected.test(actual)) return;
  throw new AssertionError(`Expected actual: ${show(actual)} to match: ${expected}${because(message)}`);
}

export function assertGreater<T>(actual: T, expected: T, message?: string): void {
  if (actual > expected) return;
  throw new AssertionError(`Expect ${show(actual)} > ${show(expected)}${because(message)}`);
}

export function assertGreaterOrEqual<T>(actual: T, expected: T, message?: string): void {
  if (actual >= expected) return;
  throw new AssertionError(`Expect ${show(actual)} >= ${show(expected)}${because(message)}`);
}

export function assertLess<T>(actual: T, expected: T, message?: string): void {
  if (actual < expected) return;
  throw new AssertionError(`Expect ${show(actual)} < ${show(expected)}${because(message)}`);
}

export function assertLessOrEqual<T>(actual: T, expected: T, message?: string): void {
  if (actual <= expected) return;
  throw new AssertionError(`Expect ${show(actual)} <= ${show(expected)}${because(message)}`);
}

function checkError<E extends Error>(error: unknown, expected?: ErrorClass<E>, includes?: string): E | unknown {
  if (expected === undefined) return error;
  if (!(error instanceof expected)) {
    throw new AssertionError(`Expected an error of class ${expected.name}, got ${show(error)}`);
  }
  if (includes !== undefined) assertStringIncludes(error.message, includes);
  return error;
}

/** Returns what was thrown, so that a test can look at more of it. */
export function assertThrows(body: () => unknown, message?: string): unknown;
export function assertThrows<E extends Error>(
  body: () => unknown,
  expected: ErrorClass<E>,
  includes?: string,
  message?: string,
): E;
export function assertThrows<E extends Error>(
  body: () => unknown,
  expected?: ErrorClass<E> | string,
  includes?: string,
  message?: string,
): E | unknown {
  try {
    body();
  } catch (error) {
    return typeof expected === "string" ? error : checkError(error, expected, includes);
  }
  throw new AssertionError(`Expected function to throw${because(typeof expected === "string" ? expected : message)}`);
}

/** As `assertThrows`, for a promise; a body that throws before it returns one fails the test. */
export function assertRejects(body: () => PromiseLike<unknown>, message?: string): Promise<unknown>;
export function assertRejects<E extends Error>(
  body: () => PromiseLike<unknown>,
  expected: ErrorClass<E>,
  includes?: string,
  message?: string,
): Promise<E>;
export async function assertRejects<E extends Error>(
  body: () => PromiseLike<unknown>,
  expected?: ErrorClass<E> | string,
  includes?: string,
  message?: string,
): Promise<E | unknown> {
  const promise = body();
  try {
    await promise;
  } catch (error) {
    return typeof expected === "string" ? error : checkError(error, expected, includes);
  }
  throw new AssertionError(`Expected function to reject${because(typeof expected === "string" ? expected : message)}`);
}
