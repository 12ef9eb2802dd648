/**
 * Whether all cases run (`make sim`, which sets SEEDS, or SEED for one of them), or only those that `make test` has time for.
 */

export const seedsWanted = Deno.env.get("SEEDS");
export const seedWanted = Deno.env.get("SEED");
export const isWhole = seedsWanted !== undefined || seedWanted !== undefined;

type Body = (t: Deno.TestContext) => void | Promise<void>;

/** A test that `make test` has no time for: it runs in `make sim`. */
export const slowTest = (name: string, body: Body): void => rowTest(false, name, body);

/** A row of a table of tests, of which `make test` takes the quick ones. */
export function rowTest(isQuick: boolean, name: string, body: Body): void {
  if (isQuick || isWhole) Deno.test(name, body);
}

/** How many cases a random test tries: of so many a tenth in `make test`. */
export const cases = (count: number): number => isWhole ? count : Math.ceil(count / 10);
