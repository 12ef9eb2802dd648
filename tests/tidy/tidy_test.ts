/**
 * Tidy: the rules of the house that need the whole tree. Each failure lists every offender and says what to do.
 *
 * What one file can show by itself (folder imports, core's purity, function length) is in floor_plan_plugin.ts and
 * runs with `deno lint`.
 */

import { fail } from "@std/assert";
import { folderOf, FOLDERS, importProblem, roomOf, ROOMS } from "./floor_plan.ts";
import { importsOf, isModule, readText, stringsInto, textFiles, topLevel } from "./source_tree.ts";

const FILE_LINES_MAX = 350;
const FILE_LINES_TARGET = 300;
const FOLDER_FILES_MAX = 20; // side by side, so that a folder is seen at one look
const LIKE_FILES = ["cli/commands"]; // a file for each of many like things
const FILE_IMPORTS_MAX = 30; // more, and a reader must know half of the tree to follow one file
const TABLES_OF_FILES = ["cli/observe/dashboard/dashboard.ts"]; // imports the page's files to serve them
const README_LINES_MAX = 200;
const FOLDER_README_LINES_MAX = 40;

/** What a document is for decides how long it may be, and where the rest belongs. */
const DOCUMENT_BYTES_MAX: Readonly<Record<string, { readonly bytes: number; readonly instead: string }>> = {
  "README.md": { bytes: 9_000, instead: "a front page: what a user looks up belongs in the help of the command" },
  "ARCHITECTURE.md": { bytes: 16_000, instead: "half an hour's reading: what one room owns belongs in its README.md" },
  "tests/lab/LOG.md": {
    bytes: 40_000,
    instead: "question, setting, number, decision: the diary of a run belongs nowhere",
  },
};

const TOP_LEVEL = [
  ...["cli", "core", "gpu", "net", "chain", "tests"],
  ...["deno.json", "deno.lock", "jsr.json", "Makefile", "README.md", "ARCHITECTURE.md", "LICENSE", "install.sh"],
];

/** Names that say nothing about what a file holds, and what to call it instead. */
const EMPTY_NAMES = ["utils", "util", "helpers", "helper", "types", "index", "mod", "common", "misc", "manager"];

/** Pinned for a package that asks for them (a peer; a version whose parts can all be fetched) and for .ci/pack. */
const PIN_ONLY = ["hono", "msgpackr-extract", "7z-wasm"];

/** Source that tells tests apart from what they must not contain: these two files name the forbidden words. */
const RULE_FILES = ["tests/tidy/tidy_test.ts", "tests/tidy/floor_plan_plugin.ts", "tests/tidy/floor_plan_test.ts"];

const files = textFiles();
const modules = files.filter(isModule);
const imports = new Map(modules.map((file) => [file.path, importsOf(file)]));
function lineCount(text: string): number {
  return text.split("\n").length - (text.endsWith("\n") ? 1 : 0);
}

/** One check for all: no offender, or a list of them under the advice. */
function check(advice: string, offenders: string[]): void {
  if (offenders.length > 0) fail(`${advice}\n  ${offenders.join("\n  ")}\n`);
}

/** Lines that match, as `path:line: text`. */
function linesMatching(pattern: RegExp, among = files): string[] {
  return among.filter((file) => !RULE_FILES.includes(file.path)).flatMap((file) =>
    file.text.split("\n").flatMap((line, i) => pattern.test(line) ? [`${file.path}:${i + 1}: ${line.trim()}`] : [])
  );
}

Deno.test("Tidy: the top level holds what the floor plan names", () => {
  const extra = topLevel().filter((name) => !TOP_LEVEL.includes(name) && !name.startsWith("."));
  check("Move it into one of cli, core, gpu, net, chain, tests", extra);
});

Deno.test("Tidy: every import follows the floor plan", () => {
  const problems = modules.flatMap((file) =>
    (imports.get(file.path) ?? []).map((each) => importProblem(file.path, each.specifier))
      .filter((problem) => problem !== null).map((problem) => `${file.path}: ${problem}`)
  );
  check("Follow the import rule of ARCHITECTURE.md", problems);
});

Deno.test("Tidy: our code is TypeScript", () => {
  const others = files.filter(({ path }) => /\.([cm]?js|[cm]ts|[jt]sx)$/.test(path)).map(({ path }) => path);
  check("Write it in a .ts file, where all other checks see it", others);
});

Deno.test("Tidy: the product names nothing of tests, not even in a string", () => {
  const product = files.filter(({ path }) => folderOf(path) !== "tests" && FOLDERS.includes(folderOf(path)));
  const inModules = product.filter(isModule).flatMap((file) =>
    stringsInto("tests", file).map((text) => `${file.path}: ${JSON.stringify(text)}`)
  );
  const inOthers = product.filter((file) => !isModule(file) && !file.path.endsWith(".md"));
  check("Move what the product needs out of tests", [...inModules, ...linesMatching(/\btests\//, inOthers)]);
});

Deno.test("Tidy: one file of cli names the concrete blob stores", () => {
  const elsewhere = files.filter(({ path }) => path.startsWith("cli/") && path !== "cli/roles/stores.ts");
  const named = linesMatching(/net\/blobs\/blob_(disk|http|memory|uploads)\.ts"/, elsewhere);
  check("Take a BlobStore (net/blobs/blobs.ts), and open it in cli/roles/stores.ts", named);
});

Deno.test("Tidy: every request of cli takes the one way out", () => {
  const own = files.filter(({ path }) =>
    path.startsWith("cli/") && !path.startsWith("cli/observe/dashboard/page/") &&
    !path.endsWith(".html")
  );
  check(
    "Ask by outboundFetch (cli/program/outbound.ts), which knows the proxies",
    linesMatching(/(await|=>|return|[(=]) ?fetch\(/, own),
  );
});

Deno.test("Tidy: files stay short", () => {
  const sized = files.filter((file) => /\.(ts|wgsl)$/.test(file.path))
    .map((file) => ({ path: file.path, lines: lineCount(file.text) }));
  for (const { path, lines } of sized) {
    if (lines > FILE_LINES_TARGET) console.log(`note: ${path} has ${lines} lines, aim for ${FILE_LINES_TARGET}`);
  }
  const long = sized.filter((file) => file.lines > FILE_LINES_MAX).map((file) => `${file.path}: ${file.lines} lines`);
  check(`Split it by idea: one file, one idea, at most ${FILE_LINES_MAX} lines`, long);
});

Deno.test("Tidy: a file is composed of few others", () => {
  const own = [...imports].filter(([path]) => folderOf(path) !== "tests" && !TABLES_OF_FILES.includes(path));
  const over = own.filter(([, list]) => new Set(list.map((each) => each.specifier)).size > FILE_IMPORTS_MAX);
  check(`Import ${FILE_IMPORTS_MAX} files at most: give a part a file and a name`, over.map(([path]) => path));
});

Deno.test("Tidy: README files stay short", () => {
  const long = files.filter((file) => file.path.endsWith("README.md")).filter((file) =>
    lineCount(file.text) > (file.path === "README.md" ? README_LINES_MAX : FOLDER_README_LINES_MAX)
  ).map((file) => `${file.path}: ${lineCount(file.text)} lines`);
  check(`Keep README.md to ${README_LINES_MAX} lines, a folder's to ${FOLDER_README_LINES_MAX}`, long);
});

Deno.test("Tidy: files are named in snake_case, after what they hold", () => {
  const stems = modules.map((file) => ({ path: file.path, stem: file.path.replace(/^.*\//, "").replace(/\.ts$/, "") }));
  check(
    "Rename it to snake_case.ts",
    stems.filter(({ stem }) => !/^[a-z][a-z0-9]*(_[a-z0-9]+)*$/.test(stem)).map(({ path }) => path),
  );
  check(
    "Name it after the idea it holds (bfloat16, leases, butterfly), not after its kind",
    stems.filter(({ stem }) => EMPTY_NAMES.includes(stem)).map(({ path }) => path),
  );
});

Deno.test("Tidy: every source file opens with what it owns", () => {
  const silent = files.filter((file) => /\.(ts|wgsl)$/.test(file.path))
    .filter((file) => !/^(#!.*\n)?(\/\*\*|\/\/(?! deno-lint))/.test(file.text)).map((file) => file.path);
  check("Begin with a comment of 3 to 10 lines: what the file owns, what it refuses, its invariants", silent);
});

Deno.test("Tidy: nothing is left for later", () => {
  check(
    "Finish it now or cut it; write what is missing into the issue",
    linesMatching(/\b(TODO|FIXME|XXX|HACK)\b|[Nn]ot implemented/),
  );
});

Deno.test("Tidy: no test is skipped or singled out in silence", () => {
  const tests = files.filter((file) => file.path.startsWith("tests/"));
  const isPlain = ({ path }: { path: string }) => path !== "tests/support/test_where.ts";
  check("Remove it, so that all tests run", linesMatching(/\.only\(|\bonly: true/, tests));
  check(
    "Say why by tests/support/test_where.ts, so that the report shows it",
    linesMatching(/Deno\.test\.ignore|\bignore: [^b]|console\.log\(.skipped/, tests.filter(isPlain)),
  );
});

Deno.test("Tidy: a lint rule is switched off for one line, with the reason", () => {
  check(
    "Write `// deno-lint-ignore <rule> -- <why>` above the one line it is for",
    linesMatching(/deno-lint-ignore-file|deno-lint-ignore(?!.* -- \S)/),
  );
  check("Fix the type; an error that is expected is `@ts-expect-error <why>`", linesMatching(/@ts-(ignore|nocheck)/));
});

Deno.test("Tidy: nothing points at one machine", () => {
  const source = files.filter((file) => file.path !== "deno.lock");
  check("Use a path relative to the file, or one the user gives", linesMatching(/\/(work|home|Users)\/[a-z]/, source));
  check(
    "Leave the registry to the client's own settings",
    linesMatching(/registry\.npmjs|pypi\.org|\bjsr\.io/, source),
  );
});

Deno.test("Tidy: packages are pinned exactly and both import maps name the same ones", () => {
  const main: Record<string, string> = JSON.parse(readText("deno.json")).imports;
  const shims = new Set(["./cli/shims/std_cli.ts", "./tests/shims/std_assert.ts"]); // no other alias of a file
  const genuine: Record<string, string> = JSON.parse(readText("jsr.json")).imports;
  const loose = Object.entries(main).filter(([, target]) =>
    !/^npm:.+@\d+\.\d+\.\d+(\/.*)?$/.test(target) && !shims.has(target)
  );
  check("Pin it: npm:name@1.2.3", loose.map(([name, target]) => `${name}: ${target}`));
  const differing = [...new Set([...Object.keys(main), ...Object.keys(genuine)])]
    .filter((name) => name.startsWith("@std/") ? !(name in main && name in genuine) : main[name] !== genuine[name]);
  check("Write the same pin into deno.json and jsr.json", differing);
});

Deno.test("Tidy: every pinned package is imported", () => {
  const used = [...imports.values()].flat().map((each) => each.specifier);
  const isUsed = (name: string) => used.some((specifier) => specifier === name || specifier.startsWith(`${name}/`));
  const pinned = Object.keys(JSON.parse(readText("deno.json")).imports);
  check("Remove it from deno.json and jsr.json", pinned.filter((name) => !isUsed(name) && !PIN_ONLY.includes(name)));
});

Deno.test("Tidy: what depends on a wire codec is asked of its record", () => {
  check(
    "Put it into the codec's record (core/codec, gpu/codecs, tests/lab/reference/codecs) and ask that",
    linesMatching(/\bcodec\)?\s*[!=]==?\s|\bswitch \(.*\bcodec\)|bytesPerValue:/),
  );
});

Deno.test("Tidy: documents that are cited are here", () => {
  check(
    "Cite the paper, the measurement or a file of this repository",
    linesMatching(/\b(ALGORITHMS|DESIGN|REFERENCE|FACTS|GOALS|STYLE|CHAIN|GPU)(\.md\b| ?§| section \d)/),
  );
});

Deno.test("Tidy: the compiler's strict flags stay on", () => {
  const flags: Record<string, unknown> = JSON.parse(readText("deno.json")).compilerOptions;
  const needed = ["strict", "noUncheckedIndexedAccess", "exactOptionalPropertyTypes", "noImplicitOverride"];
  check("Set it to true in deno.json, compilerOptions", needed.filter((name) => flags[name] !== true));
});

Deno.test("Tidy: a folder shows what it holds at one look", () => {
  const counts = new Map<string, number>();
  for (const { path } of modules) {
    const folder = path.slice(0, path.lastIndexOf("/"));
    if (folderOf(path) !== "tests" && !LIKE_FILES.includes(folder)) counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  const full = [...counts].filter(([, files]) => files > FOLDER_FILES_MAX);
  check(
    `Make rooms of it: at most ${FOLDER_FILES_MAX} files side by side`,
    full.map(([folder, files]) => `${folder}: ${files} files`),
  );
});

Deno.test("Tidy: documents can be read in one sitting", () => {
  for (const [path, { bytes, instead }] of Object.entries(DOCUMENT_BYTES_MAX)) {
    const { length } = new TextEncoder().encode(readText(path));
    check(`Keep ${path} to ${bytes} bytes, ${instead}`, length > bytes ? [`${path} has ${length} bytes`] : []);
  }
});

/** In backquotes: a path of this repository, whole or from a folder on; or a file's name alone. */
const CITED = /`([\w.-]+(?:\/[\w.-]+)*\.(?:ts|md|wgsl)|(?:core|gpu|net|chain|cli|tests)\/[\w./-]+)`/g;

/** In several READMEs, the path is from the README's own folder. */
function isHere(cited: string, folder: string): boolean {
  const path = cited.replace(/\/$/, "");
  const own = folder === "" ? path : new URL(path, `file:///${folder}/`).pathname.slice(1);
  return files.some((file) =>
    file.path === own || file.path.startsWith(`${own}/`) || file.path === path || file.path.startsWith(`${path}/`) ||
    file.path.endsWith(`/${path}`)
  );
}

Deno.test("Tidy: what documents name is here", () => {
  const documents = files.filter(({ path }) => path in DOCUMENT_BYTES_MAX || path.endsWith("README.md"));
  const gone = documents.flatMap(({ path, text }) => {
    const folder = path.includes("/") ? path.slice(0, path.lastIndexOf("/")) : "";
    return [...text.matchAll(CITED)].map(([, cited]) => cited!).filter((cited) => !isHere(cited, folder))
      .map((cited) => `${path}: ${cited}`);
  });
  check("Name the file where it is now", gone);
});

/** A path from the root, of a source file or a folder. */
const CITED_IN_COMMENT = /(?<![\w/.@-])(?:core|gpu|net|chain|cli|tests)\/(?:[\w/]*\w)(?:\.ts|(?![\w./]|\.\w))/g;

Deno.test("Tidy: what comments name is here", () => {
  const gone = modules.flatMap(({ path, text }) =>
    text.split("\n").flatMap((line, i) => {
      const comment = /^\s*(?:\/?\*|\/\/)(.*)$/.exec(line)?.[1] ?? "";
      return [...comment.matchAll(CITED_IN_COMMENT)].filter(([cited]) => !isHere(cited, ""))
        .map(([cited]) => `${path}:${i + 1}: ${cited}`);
    })
  );
  check("Name the file where it is now", gone);
});

/** Of the other rooms their line in ARCHITECTURE.md says enough. */
const WITH_README = [
  ...["core", "core/orchestrator", "core/ledger", "core/codec", "core/update"],
  ...["gpu", "net", "chain", "cli", "tests", "tests/lab"],
];

Deno.test("Tidy: layers, and every room of cli, have a README", () => {
  const rooms = (ROOMS["cli"] ?? []).map((room) => `cli/${room}`).filter((room) => room !== "cli/shims");
  const paths = new Set(files.map(({ path }) => path));
  check(
    "Say in half a page what the room owns, with its picture and its invariants",
    [...WITH_README, ...rooms].map((room) => `${room}/README.md`).filter((path) => !paths.has(path)),
  );
});

Deno.test("Tidy: every room is named in ARCHITECTURE.md", () => {
  const map = readText("ARCHITECTURE.md");
  const rooms = new Set(modules.map(({ path }) => roomOf(path)).filter((room) => room !== null));
  check(
    "Add a line about it to the map",
    [...rooms].filter((room) => folderOf(room) !== "tests" && !map.includes(room)),
  );
});
