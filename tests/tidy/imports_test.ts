/** Tidy: which module may know which, over the whole tree. Single imports are judged by floor_plan_plugin.ts. */

import { fail } from "@std/assert";
import { folderOf, placeArrows, risingArrows, roomOf, ROOMS } from "./floor_plan.ts";
import { findCycle, hiddenImports, importsOf, isModule, textFiles } from "./source_tree.ts";

/** Modules that something other than an import starts. */
const ENTRY_POINTS = [
  ...["cli/main.ts", "tests/tidy/floor_plan_plugin.ts"],
  ...[
    "tests/lab/bench/libraries/main.ts",
    "tests/support/losing/losing_iota.ts",
    "tests/support/skewed/skewed_iota.ts",
    "tests/browser/screenshots.ts",
  ],
  "tests/support/browser/hashed_steps_worker.ts",
];

const modules = textFiles().filter(isModule);
const imports = new Map(modules.map((file) => [file.path, importsOf(file)]));
const arrows = new Map([...imports].map(([path, list]) => [
  path,
  list.map((each) => each.target).filter((target) => target !== null),
]));

/** No offender, or a list of them under the advice. */
function check(advice: string, offenders: string[]): void {
  if (offenders.length > 0) fail(`${advice}\n  ${offenders.join("\n  ")}\n`);
}

Deno.test("Tidy: no import cycle, type imports included", () => {
  // Without URLs: a thread's file imports its messages from the file that starts it.
  const linked = [...imports].map(([path, list]): [string, string[]] => [
    path,
    list.filter((each) => each.linked).map((each) => each.target).filter((target) => target !== null),
  ]);
  const cycle = findCycle(new Map(linked));
  check("Move what both need into a file that imports neither", cycle === null ? [] : [cycle.join(" -> ")]);
});

Deno.test("Tidy: no cycle of folders, type imports included", () => {
  const cycle = findCycle(placeArrows(arrows));
  check("Move what both need into a folder below both", cycle === null ? [] : [cycle.join(" -> ")]);
});

Deno.test("Tidy: every import can be read", () => {
  check(
    "Write the path as a string, so that the floor plan can judge it",
    modules.filter(({ path }) => folderOf(path) !== "tests").flatMap(hiddenImports),
  );
});

Deno.test("Tidy: beside the rooms of cli stand only its entries", () => {
  const beside = modules.map(({ path }) => path).filter((path) => /^cli\/[^/]+$/.test(path));
  const own = ["cli/command_line.ts", "cli/command_table.ts", "cli/confined_worker.ts", "cli/main.ts"];
  check("Put it into a room (ROOMS in floor_plan.ts)", beside.filter((path) => !own.includes(path)));
});

Deno.test("Tidy: no file beside the rooms leads a room to one above it", () => {
  check("Move what the lower room needs into it or below it", risingArrows(arrows));
});

Deno.test("Tidy: every room has its level in the floor plan", () => {
  const rooms = new Set(modules.map(({ path }) => roomOf(path)).filter((room) => room !== null));
  const planned = Object.entries(ROOMS).flatMap(([layer, names]) => names.map((name) => `${layer}/${name}`));
  const found = [...rooms].filter((room) => folderOf(room) !== "tests");
  check("Give it its place in ROOMS (floor_plan.ts)", found.filter((room) => !planned.includes(room)));
  check("Remove it from ROOMS (floor_plan.ts)", planned.filter((room) => !rooms.has(room)));
});

Deno.test("Tidy: every module is used", () => {
  const used = new Set([...imports.values()].flat().map((each) => each.target));
  const dead = modules.map((file) => file.path).filter((path) =>
    !used.has(path) && !path.endsWith("_test.ts") && !path.endsWith("_bench.ts") && !ENTRY_POINTS.includes(path) &&
    !path.includes("/shims/")
  );
  check("Nothing imports it: delete it, or import it where it belongs", dead);
});
