/** HOME, which is hidden from Deno at a start and put back before the program asks for it. */

import { assertEquals } from "@std/assert";
import { hiddenHome, restoreHome } from "../../../cli/program/self.ts";

function restored(variables: Record<string, string>): Record<string, string> {
  const env = new Map(Object.entries(variables));
  restoreHome({
    get: (name) => env.get(name),
    set: (name, value) => void env.set(name, value),
    delete: (name) => void env.delete(name),
  });
  return Object.fromEntries(env);
}

Deno.test("Own home: what a start hides is put back, and stays known to the processes that are started next", () => {
  assertEquals(restored({ ...hiddenHome("/program", "/ann") }), { HOME: "/ann", IOTA_HOME: "/ann" });
  const child = { ...restored({ HOME: "/ann" }), ...hiddenHome("/program") }; // started by a process that nothing was hidden from
  assertEquals(restored(child), { HOME: "/ann", IOTA_HOME: "/ann" });
});

Deno.test("Own home: a user without a home has none afterwards", () => {
  const first = restored({ HOME: "/program", IOTA_HOME: "" });
  assertEquals(first, { IOTA_HOME: "" });
  assertEquals(restored({ ...first, ...hiddenHome("/program") }), { IOTA_HOME: "" });
});
