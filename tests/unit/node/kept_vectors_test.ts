/** Vectors that a validator keeps in memory. */

import { assertEquals } from "@std/assert";
import { KeptVectors } from "../../../cli/node/stages/kept_vectors.ts";

function counting(mostBytes: number) {
  const kept = new KeptVectors(mostBytes);
  const loads: string[] = [];
  const get = (name: string, floats = 4) =>
    kept.get(name, () => {
      loads.push(name);
      return Promise.resolve(new Float32Array(floats));
    });
  return { kept, loads, get };
}

Deno.test("Kept vectors: each is loaded once while there is room; the least recently used one goes first", async () => {
  const { loads, get } = counting(32);
  for (const name of ["a", "b", "a", "c", "a", "b"]) await get(name);
  assertEquals(loads, ["a", "b", "c", "b"]);
});

Deno.test("Kept vectors: one is kept whatever it takes, and none after the end", async () => {
  const { kept, loads, get } = counting(32);
  for (const name of ["large", "large", "small", "large"]) await get(name, name === "large" ? 100 : 4);
  assertEquals(loads, ["large", "small", "large"]);
  kept.clear();
  await get("large", 100);
  assertEquals(loads.length, 4);
});

Deno.test("Kept vectors: one that cannot be loaded is asked for again", async () => {
  const kept = new KeptVectors(32);
  let isThere = false;
  const load = () => isThere ? Promise.resolve(new Float32Array(1)) : Promise.reject(new Error("gone"));
  assertEquals(await kept.get("a", load).catch((error) => error.message), "gone");
  isThere = true;
  assertEquals((await kept.get("a", load)).length, 1);
});
