/**
 * Runs folders of tests in one process, as `make` does: `deno run -A tests/suite.ts quick unit attack --parallel`.
 *
 * The files of a folder share an isolate, up to `--together` of them: most of the time of a small file goes into loading what it
 * imports, and whole runs that several files compare with are made once. Writes .cache/results/NAME.xml, and prints the seconds
 * and for each failed test the line that repeats it alone. A run that a signal ended, as a driver's crash does, is repeated once.
 */

import { parseArgs } from "@std/cli";

const results = ".cache/results";

interface Failure {
  readonly name: string;
  readonly file: string; // where it was declared, which may be shared by several test files
  readonly text: string;
}

const unescaped: Readonly<Record<string, string>> = { lt: "<", gt: ">", quot: '"', apos: "'", amp: "&" };

/** The text behind XML's entities. */
function plain(xml: string): string {
  return xml.replace(/&(?:#(x?)([0-9a-f]+)|([a-z]+));/gi, (_, isHex, code, name) => {
    if (code === undefined) return unescaped[name] ?? "";
    return String.fromCodePoint(parseInt(code, isHex ? 16 : 10));
  });
}

/** A module that runs the tests of `files`. A file that cannot be loaded is a failed test, so that a report has it too. */
export function suiteModule(files: readonly string[]): string {
  return files.map((file) =>
    `try {
  await import("../../../${file}");
} catch (error) {
  Deno.test("${file} loads", () => Promise.reject(error));
}
`
  ).join("");
}

const failedCase = /<testcase name="([^"]*)" classname="([^"]*)"[^>]*>\s*<(?:failure|error)([\s\S]*?)<\/testcase>/g;

/** The failed tests of a JUnit file; of a test with failed steps it is the test, with what its steps say. */
export function failuresIn(xml: string): Failure[] {
  const failed = [...xml.matchAll(failedCase)].map(([, name, file, text]): Failure => ({
    name: plain(name!),
    file: plain(file!).replace(/^\.\//, ""),
    text: plain(text!),
  }));
  const isStepOf = (name: string, test: Failure) => name.startsWith(`${test.name} > `);
  return failed.filter(({ name }) => !failed.some((test) => isStepOf(name, test))).map((test) => ({
    ...test,
    text: failed.filter(({ name }) => name === test.name || isStepOf(name, test)).map(({ text }) => text).join("\n"),
  }));
}

/** A command for any shell, without Deno on its PATH. `whole`: the value of SEEDS, with which all rows of a table run. */
export function repeatLine(
  { name, file, text }: Failure,
  { folders, whole }: { folders: readonly string[]; whole: string },
): string {
  const seeds = whole === "" ? "" : `SEEDS=${whole} `;
  const unloaded = name.match(/^(tests\/[\w/]+_test\.ts) loads$/)?.[1];
  if (unloaded !== undefined) return `${seeds}make one FILE=${unloaded}`;
  const named = text.match(/\S*\/(tests\/[\w/]+_test\.ts)/)?.[1];
  const path = file.endsWith("_test.ts") ? file : named ?? folders.map((folder) => `tests/${folder}/`).join(" ");
  const filter = name.replaceAll("'", "'\\''");
  return `${seeds}NAME='${filter}' make one FILE=${path.includes(" ") ? `'${path}'` : path}`;
}

function testFiles(folder: string): string[] {
  const found: string[] = [];
  for (const { name, isFile, isDirectory } of Deno.readDirSync(folder)) {
    if (isDirectory) found.push(...testFiles(`${folder}/${name}`));
    if (isFile && name.endsWith("_test.ts")) found.push(`${folder}/${name}`);
  }
  return found.sort();
}

/** Modules in `into` that import up to `together` test files of one folder each, named after it. */
function grouped(files: readonly string[], { into, together }: { into: string; together: number }): string[] {
  const byFolder = Object.entries(Object.groupBy(files, (file) => file.slice(0, file.lastIndexOf("/"))));
  const groups = byFolder.flatMap(([from, own = []]) => {
    const count = Math.ceil(own.length / together);
    // Dealt out in turn, so that the groups of a folder take about as long.
    return Array.from({ length: count }, (_, group) => {
      const members = own.filter((_, i) => i % count === group);
      const name = members.length === 1 ? members[0]!.replace("_test.ts", "") : `${from}_${group + 1}`;
      return { path: `${into}/${name.replace("tests/", "").replaceAll("/", "_")}_test.ts`, members };
    });
  });
  Deno.mkdirSync(into, { recursive: true });
  for (const { path, members } of groups) {
    Deno.writeTextFileSync(path, suiteModule(members));
  }
  return groups.map(({ path }) => path);
}

async function runTests(paths: readonly string[], { report, flags }: { report: string; flags: string[] }) {
  const args = ["test", "--allow-all", "--no-check", "--quiet", ...flags, "--junit-path", report, ...paths];
  return await new Deno.Command(Deno.execPath(), { args }).spawn().status;
}

/** Seconds of tests by the folder that they are declared in, largest first. */
function secondsByFolder(xml: string): [string, number][] {
  const seconds = new Map<string, number>();
  for (
    const [, folder, time] of xml.matchAll(/<testcase name="[^">]*" classname="\.\/tests\/(\w+)[^"]*" time="([\d.]+)"/g)
  ) {
    seconds.set(folder!, (seconds.get(folder!) ?? 0) + Number(time));
  }
  return [...seconds].sort(([, a], [, b]) => b - a);
}

interface SuiteOptions {
  readonly folders: readonly string[];
  readonly together: number;
  readonly flags: string[];
}

async function runSuite(suite: string, { folders, together, flags }: SuiteOptions): Promise<number> {
  const [report, mark, into] = [`${results}/${suite}.xml`, `${results}/${suite}.failed`, `.cache/suites/${suite}`];
  Deno.mkdirSync(results, { recursive: true });
  for (const path of [report, mark, into]) {
    try {
      Deno.removeSync(path, { recursive: true });
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  }
  const files = folders.flatMap((folder) => testFiles(`tests/${folder}`));
  const paths = grouped(files, { into, together });
  const began = performance.now();
  let status = await runTests(paths, { report, flags });
  if (status.signal !== null) {
    console.log(`${suite}: ended by ${status.signal}, running it again`);
    status = await runTests(paths, { report, flags });
  }
  const xml = Deno.readTextFileSync(report);
  const parts = secondsByFolder(xml).map(([folder, seconds]) => `${folder} ${Math.round(seconds)}`);
  console.log(`${suite}: ${Math.round((performance.now() - began) / 1000)} s (seconds of tests: ${parts.join(", ")})`);
  if (status.success) return 0;
  Deno.writeTextFileSync(mark, "");
  const whole = Deno.env.get("SEEDS") ?? "";
  for (const failure of failuresIn(xml)) console.log(`to repeat it alone: ${repeatLine(failure, { folders, whole })}`);
  return 1;
}

if (import.meta.main) {
  const { _: words, together = "1", parallel } = parseArgs(Deno.args, { string: ["together"], boolean: ["parallel"] });
  const [name = "", ...folders] = words.map(String);
  Deno.chdir(new URL("..", import.meta.url));
  const isWhole = Deno.env.get("SEEDS") !== undefined; // each file takes long then, and needs its own thread
  Deno.exit(
    await runSuite(name, {
      folders: folders.length === 0 ? [name] : folders,
      together: isWhole ? 1 : Number(together),
      flags: parallel ? ["--parallel"] : [],
    }),
  );
}
