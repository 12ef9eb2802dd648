/** Whether all cases run (`make sim`, which sets SEEDS, or SEED for one of them), or only those that `make test` has time for. */

export const seedsWanted = Deno.env.get("SEEDS");
export const seedWanted = Deno.env.get("SEED");
export const isWhole = seedsWanted !== undefined || seedWanted !== undefined;
