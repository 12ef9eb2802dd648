/** What the tidy tests see of the tree: cycles, and strings that lead into a folder. */

import { assertEquals } from "@std/assert";
import { findCycle, hiddenImports, importsOf, stringsInto } from "./source_tree.ts";

Deno.test("Source tree: findCycle sees a cycle and nothing else", () => {
  assertEquals(findCycle(new Map([["a", ["b", "c"]], ["b", ["c"]], ["c", []]])), null);
  assertEquals(findCycle(new Map([["a", ["b"]], ["b", ["c"]], ["c", ["b"]]])), ["b", "c", "b"]);
  assertEquals(findCycle(new Map([["a", ["a"]]])), ["a", "a"]);
});

Deno.test("Source tree: a string that names a path in tests is found however it is written", () => {
  const found = (text: string) => stringsInto("tests", { path: "net/a.ts", text });
  const ways = [
    "await import(`../tests/support/${name}.ts`);",
    'new URL("../tests/vectors/x.json", import.meta.url);',
    'import.meta.resolve("../tests/x.ts");',
    'read(root + "tests/" + name);',
    'read(["..", "tests", name].join("/"));',
    'import x from "../tests/x.json" with { type: "json" };',
  ];
  for (const way of ways) assertEquals(found(way).length, 1, way);
  assertEquals(found('run("deno run tests/lab/main.ts")').length, 1);
  assertEquals(found('// tests/unit has it\nsay("latests/x", "tests of WebGPU");'), []);
});

Deno.test("Source tree: a template without expressions is read, and a path that only running would tell is hidden", () => {
  const file = (text: string) => ({ path: "net/a.ts", text });
  const named = ['import("../b.ts")', "import(`../b.ts`)", "new URL(`../b.ts`, import.meta.url)"];
  for (const text of named) {
    assertEquals(importsOf(file(text)).map(({ target }) => target), ["b.ts"], text);
    assertEquals(hiddenImports(file(text)), [], text);
  }
  const hidden = [
    ...["import(path)", "import(`../${name}.ts`)", 'import("../" + name)'],
    ...['new globalThis.URL("../b.ts", import.meta.url)', 'new URL("../" + name, import.meta.url)'],
    'import.meta.resolve("../b.ts")',
  ];
  for (const text of hidden) assertEquals(hiddenImports(file(text)), [`net/a.ts: ${text}`], text);
});
