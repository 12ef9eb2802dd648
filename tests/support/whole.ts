/**
 * Whether all cases run (`make sim`, which sets SEEDS, or SEED for one of them), or only those that `make test` has time for.
 */

export const seedsWanted = Deno.env.get("SEEDS");
export const seedWanted = Deno.env.get("SEED");
export const isWhole = seedsWanted !== undefined || seedWanted !== undefined;

/** A test that `make test` has no time for: it runs in `make sim`. */
export function slowTest(name: string, body: (t: Deno.TestContext) => void | Promise<void>): void {
  if (isWhole) Deno.test(name, body);
}

/** How many cases a random test tries: of so many a tenth in `make test`. */
export const cases = (count: number): number => isWhole ? count : Math.ceil(count / 10);
