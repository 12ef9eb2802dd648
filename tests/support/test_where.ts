/**
 * Tests that need a feature of the machine. If it is missing the report shows why, because a quiet run hides what a test
 * prints.
 */

/** `missing`: why it cannot run here, or null. */
export function testWhere(missing: string | null, name: string, body: (t: Deno.TestContext) => void | Promise<void>) {
  Deno.test(namedWhere(missing, name, body));
}

/** The same for a step. */
export async function stepWhere(
  t: Deno.TestContext,
  missing: string | null,
  name: string,
  body: () => void | Promise<void>,
): Promise<void> {
  await t.step(namedWhere(missing, name, body));
}

function namedWhere<Body>(missing: string | null, name: string, fn: Body): { name: string; ignore: boolean; fn: Body } {
  return { name: missing === null ? name : `${name} (skipped: ${missing})`, ignore: missing !== null, fn };
}
