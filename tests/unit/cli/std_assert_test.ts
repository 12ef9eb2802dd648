/**
 * The assertions behind `@std/assert`. A test tool that lets a wrong value pass makes every other test worthless,
 * so each assertion is shown to pass and to fail.
 */

import {
  assert,
  assertAlmostEquals,
  assertEquals,
  assertExists,
  assertGreater,
  assertGreaterOrEqual,
  assertInstanceOf,
  AssertionError,
  assertLess,
  assertLessOrEqual,
  assertMatch,
  assertNotEquals,
  assertRejects,
  assertStrictEquals,
  assertStringIncludes,
  assertThrows,
  fail,
} from "@std/assert";

const passing: Record<string, () => void> = {
  assert: () => assert(1),
  assertEquals: () => assertEquals({ a: [NaN, new Uint8Array([1])] }, { a: [NaN, new Uint8Array([1])] }),
  assertNotEquals: () => assertNotEquals([1], [2]),
  assertStrictEquals: () => assertStrictEquals(NaN, NaN),
  assertAlmostEquals: () => assertAlmostEquals(1, 1 + 5e-8),
  assertExists: () => assertExists(0),
  assertInstanceOf: () => assertInstanceOf(new TypeError(), Error),
  assertStringIncludes: () => assertStringIncludes("a stage", "stage"),
  assertMatch: () => assertMatch("stage 3", /\d/),
  assertGreater: () => assertGreater(2, 1),
  assertGreaterOrEqual: () => assertGreaterOrEqual(2, 2),
  assertLess: () => assertLess(1, 2),
  assertLessOrEqual: () => assertLessOrEqual(2, 2),
};

const failing: Record<string, () => void> = {
  assert: () => assert(0, "rule"),
  assertEquals: () => assertEquals<unknown>([1, undefined], [1]),
  "assertEquals on typed arrays": () => assertEquals(new Float32Array([1, 2]), new Float32Array([1, 3])),
  "assertEquals on signed zeros": () => assertEquals(0, -0),
  assertNotEquals: () => assertNotEquals([1], [1]),
  assertStrictEquals: () => assertStrictEquals({}, {}),
  assertAlmostEquals: () => assertAlmostEquals(1, 1.01, 1e-3),
  "assertAlmostEquals on NaN": () => assertAlmostEquals(NaN, 1),
  assertExists: () => assertExists(null),
  assertInstanceOf: () => assertInstanceOf({}, Error),
  assertStringIncludes: () => assertStringIncludes("a", "b"),
  assertMatch: () => assertMatch("a", /b/),
  assertGreater: () => assertGreater(1, 1),
  assertGreaterOrEqual: () => assertGreaterOrEqual(1, 2),
  assertLess: () => assertLess(1, 1),
  assertLessOrEqual: () => assertLessOrEqual(2, 1),
  fail: () => fail("rule"),
  "assertThrows without a throw": () => void assertThrows(() => 1),
  "assertThrows with another class": () => void assertThrows(() => fail(), TypeError),
  "assertThrows with another text": () => void assertThrows(() => fail("one"), AssertionError, "two"),
};

for (const [name, body] of Object.entries(passing)) Deno.test(`std_assert: ${name} passes`, body);

for (const [name, body] of Object.entries(failing)) {
  Deno.test(`std_assert: ${name} fails when it should`, () => {
    let thrown: unknown = null;
    try {
      body();
    } catch (error) {
      thrown = error;
    }
    if (!(thrown instanceof AssertionError)) throw new Error(`${name} did not throw an AssertionError`);
  });
}

Deno.test("std_assert: assertThrows hands back the error", () => {
  const error = assertThrows(() => fail("the rule"), AssertionError, "the rule");
  assertInstanceOf(error, AssertionError);
});

Deno.test("std_assert: assertRejects hands back the error and fails on a promise that resolves", async () => {
  const error = await assertRejects(() => Promise.reject(new RangeError("too far")), RangeError, "far");
  assertInstanceOf(error, RangeError);
  await assertRejects(() => assertRejects(() => Promise.resolve(1)), AssertionError);
});
