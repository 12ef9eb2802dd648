/**
 * Runs the tests of one folder as `make` does: `deno run --allow-all tests/suite.ts unit --together 24 --parallel`.
 *
 * Small files share an isolate, up to `--together` of them: most of their time goes into loading what they import. Writes a
 * JUnit file to .cache/results, and at the end prints the seconds and for each failed test the line that repeats it alone. A
 * run that a signal ended (a driver that crashed) is repeated once.
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
  return xml.replace(
    /&(?:#(x?)([0-9a-f]+)|([a-z]+));/gi,
    (_, isHex, code, name) =>
      code === undefined ? unescaped[name] ?? "" : String.fromCodePoint(parseInt(code, isHex ? 16 : 10)),
  );
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

/** A command for the shell. `whole`: the value of SEEDS, with which all rows of a table run. */
export function repeatLine({ name, file, text }: Failure, { suite, whole }: { suite: string; whole: string }): string {
  const named = text.match(/\S*\/(tests\/[\w/]+_test\.ts)/)?.[1];
  const path = file.endsWith("_test.ts") ? file : named ?? `tests/${suite}/`;
  const filter = name.replaceAll("'", "'\\''");
  return `${whole === "" ? "" : `SEEDS=${whole} `}deno test --allow-all --no-check --filter '${filter}' ${path}`;
}

function testFiles(folder: string): string[] {
  const found: string[] = [];
  for (const { name, isFile, isDirectory } of Deno.readDirSync(folder)) {
    if (isDirectory) found.push(...testFiles(`${folder}/${name}`));
    if (isFile && name.endsWith("_test.ts")) found.push(`${folder}/${name}`);
  }
  return found.sort();
}

/** Modules that import up to `together` test files of one folder each, named after it. */
function grouped(files: readonly string[], { suite, together }: { suite: string; together: number }): string[] {
  const folder = `.cache/suites/${suite}`;
  const byFolder = Object.entries(Object.groupBy(files, (file) => file.slice(0, file.lastIndexOf("/"))));
  const groups = byFolder.flatMap(([from, own = []]) => {
    const count = Math.ceil(own.length / together);
    const name = from.split("/").slice(2).join("_") || suite;
    // Dealt out in turn, so that the groups of a folder take about as long.
    return Array.from({ length: count }, (_, group) => ({
      path: `${folder}/${name}_${group + 1}_test.ts`,
      members: own.filter((_, i) => i % count === group),
    }));
  });
  Deno.mkdirSync(folder, { recursive: true });
  for (const { path, members } of groups) {
    Deno.writeTextFileSync(path, members.map((file) => `import "../../../${file}";\n`).join(""));
  }
  return groups.map(({ path }) => path);
}

async function runTests(paths: readonly string[], { report, flags }: { report: string; flags: string[] }) {
  const args = ["test", "--allow-all", "--no-check", "--quiet", ...flags, "--junit-path", report, ...paths];
  return await new Deno.Command(Deno.execPath(), { args }).spawn().status;
}

async function runSuite(suite: string, { together, flags }: { together: number; flags: string[] }): Promise<number> {
  const report = `${results}/${suite}.xml`;
  const mark = `${results}/${suite}.failed`;
  Deno.mkdirSync(results, { recursive: true });
  for (const path of [report, mark, `.cache/suites/${suite}`]) {
    try {
      Deno.removeSync(path, { recursive: true });
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  }
  const files = testFiles(`tests/${suite}`);
  const paths = together > 1 ? grouped(files, { suite, together }) : files;
  const began = performance.now();
  let status = await runTests(paths, { report, flags });
  if (status.signal !== null) {
    console.log(`tests/${suite}: ended by ${status.signal}, running it again`);
    status = await runTests(paths, { report, flags });
  }
  console.log(`tests/${suite}: ${Math.round((performance.now() - began) / 1000)} s`);
  if (status.success) return 0;
  Deno.writeTextFileSync(mark, "");
  const failures = failuresIn(Deno.readTextFileSync(report));
  const whole = Deno.env.get("SEEDS") ?? "";
  for (const failure of failures) console.log(`to repeat it alone: ${repeatLine(failure, { suite, whole })}`);
  return 1;
}

if (import.meta.main) {
  const { _: [suite], together, parallel } = parseArgs(Deno.args, { string: ["together"], boolean: ["parallel"] });
  Deno.chdir(new URL("..", import.meta.url));
  const flags = parallel ? ["--parallel"] : [];
  Deno.exit(await runSuite(String(suite), { together: Number(together ?? 1), flags }));
}
