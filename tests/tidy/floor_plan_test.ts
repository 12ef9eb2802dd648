/**
 * The lint plugin, rule by rule: what it finds and what it leaves alone. One `check` for all of them. And the arrows that only
 * the whole tree shows, on lists of invented files.
 */

import { assertEquals, assertStringIncludes } from "@std/assert";
import { placeArrows, risingArrows } from "./floor_plan.ts";
import plugin, { FUNCTION_LINES_MAX } from "./floor_plan_plugin.ts";
import { findCycle } from "./source_tree.ts";

/** Rule names found in `source`, in order, when it lies at `path`. */
function check(path: string, source: string, expected: string[]): void {
  const found = Deno.lint.runPlugin(plugin, path, source);
  assertEquals(found.map((each) => each.id.replace("floor-plan/", "")), expected, `${path}: ${source}`);
}

const IMPORTS: [path: string, specifier: string, allowed: boolean][] = [
  ["core/update/average.ts", "../prng.ts", true],
  ["core/update/average.ts", "../../gpu/compute.ts", false],
  ["core/update/average.ts", "../../tests/support/world.ts", false],
  ["core/update/average.ts", "node:crypto", false],
  ["core/update/average.ts", "valibot", false],
  ["core/settings/derive.ts", "../model/spec.ts", true],
  ["core/model/spec.ts", "../codec/wire.ts", true],
  ["core/model/spec.ts", "../config/config.ts", false],
  ["core/codec/wire.ts", "../model/spec.ts", false],
  ["cli/node/run_node.ts", "../terminal/command.ts", true],
  ["cli/node/run_node.ts", "../swarm/swarm.ts", false],
  ["cli/main.ts", "./swarm/swarm.ts", true],
  ["gpu/stage.ts", "../core/ids.ts", true],
  ["gpu/stage.ts", "../net/frame.ts", false],
  ["gpu/stage.ts", "../cli/main.ts", false],
  ["net/frame.ts", "msgpackr", true],
  ["net/frame.ts", "node:http", true],
  ["net/frame.ts", "../chain/wallet/ss58.ts", false],
  ["net/frame.ts", "@std/assert", false],
  ["net/frame.ts", "@std/cli", false],
  ["chain/wallet/keyfile.ts", "../../core/ids.ts", true],
  ["chain/wallet/keyfile.ts", "../../gpu/device.ts", false],
  ["cli/main.ts", "../gpu/device.ts", true],
  ["cli/main.ts", "@std/cli", true],
  ["cli/main.ts", "../tests/support/world.ts", false],
  ["tests/unit/a_test.ts", "../../cli/main.ts", true],
  ["tests/unit/a_test.ts", "@std/assert", true],
];

Deno.test("folder-imports: each folder imports what the floor plan allows, however the import is written", () => {
  for (const [path, specifier, allowed] of IMPORTS) {
    const expected = allowed ? [] : ["folder-imports"];
    check(path, `import { a } from "${specifier}"; export const b = a;`, expected);
    check(path, `import type { A } from "${specifier}"; export type B = A;`, expected);
    check(path, `export { a } from "${specifier}"; export const b = 1;`, expected);
    check(path, `export type B = import("${specifier}").A;`, expected);
  }
  check("net/late.ts", 'export const load = () => import("../gpu/device.ts");', ["folder-imports"]);
});

Deno.test("folder-imports: the message names the rule, the value and the way out", () => {
  const [found] = Deno.lint.runPlugin(plugin, "core/a.ts", 'import { a } from "../net/frame.ts"; a();');
  assertStringIncludes(found?.message ?? "", "Cannot import 'net/frame.ts' in core, which may import core only");
  assertStringIncludes(found?.message ?? "", "returning an Effect");
});

Deno.test("core-purity: no clock, randomness, platform or suspension in core", () => {
  const impure = [
    "export const now = Date.now();",
    "export const now = new Date();",
    "export const random = Math.random();",
    "setTimeout(() => 1, 5);",
    "crypto.getRandomValues(new Uint8Array(4));",
    'Deno.readTextFileSync("a");',
    'export const a = fetch("a");',
    "export const now = performance.now();",
    'export const home = process.env["HOME"];',
    "export async function a() {}",
    "export const a = async () => 1;",
    "export type A = Promise<number>;",
    'console.log("a");',
    "export function a() { try { return 1; } finally { b(); } }",
  ];
  for (const source of impure) check("core/a.ts", source, ["core-purity"]);
  for (const source of impure) check("cli/run/a.ts", source, []);
});

Deno.test("core-purity: properties and types of our own with such names are fine", () => {
  const pure = [
    "export const a = { process: 1, fetch: 2 }.process;",
    "export function a(state: { crypto: number }): number { return state.crypto; }",
    "export const rounded = Math.fround(1.5);",
  ];
  for (const source of pure) check("core/a.ts", source, []);
});

Deno.test("no-default-export, no-enum, no-barrel: shapes we do without", () => {
  check("gpu/a.ts", "export default 1;", ["no-default-export"]);
  check("gpu/a.ts", "const a = 1; export { a as default };", ["no-default-export"]);
  check("gpu/a.ts", "export enum Color { Red }", ["no-enum"]);
  check("gpu/a.ts", 'export * from "./b.ts";', ["no-barrel"]);
  check("gpu/a.ts", 'export { b } from "./b.ts"; export { c } from "./c.ts";', ["no-barrel"]);
  check("gpu/a.ts", 'export { b } from "./b.ts"; export const c = 1;', []);
  check("gpu/a.ts", 'import "./b.ts";', []);
});

Deno.test("no-silent-catch: an exception is handled or its loss explained", () => {
  check("cli/a.ts", "try { a(); } catch {}", ["no-silent-catch"]);
  check("cli/a.ts", "try { a(); } catch { /* the file may be gone already */ }", []);
  check("cli/a.ts", "try { a(); } catch (error) { b(error); }", []);
  check("cli/a.ts", "a().catch(() => {});", ["no-silent-catch"]);
  check("cli/a.ts", "a().catch((error) => report(error));", []);
});

Deno.test("function-length: the limit is the last length that passes", () => {
  const body = (lines: number) => `export function a() {\n${"  b();\n".repeat(lines - 2)}}`;
  check("gpu/a.ts", body(FUNCTION_LINES_MAX), []);
  check("gpu/a.ts", body(FUNCTION_LINES_MAX + 1), ["function-length"]);
});

Deno.test("no-sleep-in-tests: timers only outside tests", () => {
  check("tests/unit/a_test.ts", "setTimeout(() => 1, 5);", ["no-sleep-in-tests"]);
  check("tests/unit/a_test.ts", "AbortSignal.timeout(5);", []);
  check("cli/a.ts", "setTimeout(() => 1, 5);", []);
});

Deno.test("risingArrows: a file beside the rooms stands as high as the highest room that it reaches", () => {
  const arrows = (extra: Record<string, string[]>) =>
    new Map(Object.entries({
      "core/orchestrator/machine.ts": ["core/codec/wire.ts"],
      "cli/main.ts": ["cli/commands/run.ts"],
      "cli/commands/run.ts": ["cli/files/disk.ts"],
      "gpu/worker.ts": ["gpu/webgpu/device.ts"],
      "gpu/webgpu/device.ts": ["gpu/layers/head.ts", "gpu/stage.ts"],
      "gpu/stage.ts": ["gpu/layers/head.ts", "core/ids.ts"],
      ...extra,
    }));
  assertEquals(risingArrows(arrows({})), []);
  assertEquals(
    risingArrows(arrows({
      "core/codec/wire.ts": ["core/zz_leaf.ts"],
      "core/zz_leaf.ts": ["core/zz_second.ts", "core/ids.ts"],
      "core/zz_second.ts": ["core/model/spec.ts", "core/orchestrator/machine.ts", "core/zz_leaf.ts"],
    })),
    ["core/codec/wire.ts -> core/zz_leaf.ts -> core/orchestrator"],
  );
  assertEquals(
    risingArrows(arrows({ "cli/files/disk.ts": ["cli/zz_leaf.ts"], "cli/zz_leaf.ts": ["cli/commands/run.ts"] })),
    ["cli/files/disk.ts -> cli/zz_leaf.ts -> cli/commands"],
  );
});

Deno.test("placeArrows: the rooms in core/orchestrator may circle, but not with what is outside", () => {
  const inside = new Map([
    ["core/orchestrator/step/a.ts", ["core/orchestrator/merge/b.ts"]],
    ["core/orchestrator/merge/b.ts", ["core/orchestrator/step/c.ts", "core/codec/wire.ts"]],
  ]);
  assertEquals(findCycle(placeArrows(inside)), null);
  const around = new Map([...inside, ["core/codec/wire.ts", ["core/zz_leaf.ts"]], [
    "core/zz_leaf.ts",
    ["core/orchestrator/step/a.ts"],
  ]]);
  assertEquals(findCycle(placeArrows(around)), [
    ...["core/orchestrator", "core/codec", "core/zz_leaf.ts", "core/orchestrator"],
  ]);
});
