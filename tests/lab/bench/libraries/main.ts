/**
 * A library that `iota bench` measures beside ours, in a process of its own: JSON lines in and out (tests/lab/bench/compute/task.ts).
 *
 * Started as `deno run --config packages.json main.ts LIBRARY cpu|webgpu`. The packages are development dependencies of this
 * folder only: they are pinned in packages.json and imported by name at run time, so the program itself never contains them.
 * Owns: the loop, the clock (that of ours), and what an error becomes.
 */

import type { LibraryGreeting, LibraryRequest, Missing, Speed } from "../compute/task.ts";
import { TextLineStream } from "../../../../cli/program/text_lines.ts";
import { measureBatches } from "../../../../gpu/speed/batch_speed.ts";
import { openJax } from "./jax.ts";
import type { Backend, Library, Prepared } from "./library.ts";
import { openOnnx } from "./onnx.ts";
import { openTensorflow } from "./tensorflow.ts";

const libraries: Readonly<Record<string, (backend: Backend) => Promise<Library>>> = {
  "jax-js": openJax,
  tfjs: openTensorflow,
  "onnxruntime-web": openOnnx,
};

const warmUpBudgets = 2; // at 200 ms each, jax-js came to its lasting speed

const answers = (line: LibraryGreeting | Speed | Missing) => console.log(JSON.stringify(line));
const missing = (error: unknown): Missing => ({ missing: error instanceof Error ? error.message : String(error) });

/** Prepared once, so that what is compiled for a task is compiled before its first run. */
async function measure(
  library: Library,
  { task, budgetMs, known }: LibraryRequest & { known: Map<string, Prepared | Missing> },
): Promise<Speed | Missing> {
  const key = JSON.stringify(task);
  let prepared = known.get(key);
  if (prepared === undefined) {
    for (const other of known.values()) if (!("missing" in other)) other.dispose(); // one at a time is kept
    known.clear();
    prepared = await prepare(library, { task, budgetMs });
    known.set(key, prepared);
  }
  return "missing" in prepared ? prepared : await measureBatches(prepared, budgetMs);
}

/** Warmed up, too: the engine compiles a library's own code anew once that has run for a while. */
async function prepare(library: Library, { task, budgetMs }: LibraryRequest): Promise<Prepared | Missing> {
  const prepared = await library.prepare(task);
  if (!("missing" in prepared)) await measureBatches(prepared, warmUpBudgets * budgetMs);
  return prepared;
}

async function serve(name: string, backend: Backend): Promise<void> {
  let library: Library;
  try {
    library = await libraries[name]!(backend);
  } catch (error) {
    return answers(missing(error));
  }
  answers({ version: library.version });
  const known = new Map<string, Prepared | Missing>();
  const lines = Deno.stdin.readable.pipeThrough(new TextDecoderStream()).pipeThrough(new TextLineStream());
  for await (const line of lines) {
    const request: LibraryRequest = JSON.parse(line);
    answers(await measure(library, { ...request, known }).catch(missing));
  }
}

if (import.meta.main) {
  const [name = "", backend] = Deno.args;
  await serve(name, backend === "webgpu" ? "webgpu" : "cpu");
  Deno.exit(0); // libraries leave threads and devices behind
}
