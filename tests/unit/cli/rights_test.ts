/**
 * How rights depend on the environment. What a command declares, and that it holds nothing more, is tests/e2e/rights_test.ts.
 */

import { assertEquals } from "@std/assert";
import { type HeldRights, heldWith } from "../../../cli/rights/rights.ts";

const held: HeldRights = { read: [], write: [], net: [], run: ["/iota"], env: [], sys: [], needsSensors: false };

Deno.test("Rights: where the dynamic loader has variables, a command that starts programs may start any", () => {
  for (const name of ["LD_LIBRARY_PATH", "LD_PRELOAD", "DYLD_LIBRARY_PATH"]) {
    assertEquals(heldWith(["HOME", name], held), { ...held, run: "any" }, name);
    assertEquals(heldWith(["HOME", name], { ...held, run: [] }).run, []);
  }
  assertEquals(heldWith(["HOME", "OLD_PATH", "LDFLAGS"], held), held);
});
