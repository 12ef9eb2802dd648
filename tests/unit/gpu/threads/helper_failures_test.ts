/** Helper threads that fail, that cannot start, that are ended in the middle of work, and memory that runs out. */

import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { bytesOfCpuStage, createCpuStage } from "../../../../gpu/cpu/cpu_stage.ts";
import { gemmFloats } from "../../../../gpu/cpu/layout/gemm.ts";
import { kernelJob } from "../../../../gpu/cpu/jobs/kernel_job.ts";
import { compiledKernels } from "../../../../gpu/cpu/kernels/cpu_kernels.ts";
import { CpuMemory, OutOfMemoryError } from "../../../../gpu/cpu/layout/memory.ts";
import type { HelperOrder } from "../../../../gpu/cpu/threads/helper_messages.ts";
import { HelperThreads } from "../../../../gpu/cpu/threads/helper_threads.ts";
import { JobBoard, ThreadError } from "../../../../gpu/cpu/threads/job_board.ts";
import { isDeviceLoss } from "../../../../gpu/worker_client.ts";
import { specAt, specsOf, tinyConfig } from "../../../support/tiny_model.ts";

const wholeModel = () => specAt(specsOf(tinyConfig({ pipeline: { stages: 1 } }), [2]), 0);
const codeOf = (text: string) => new URL(`data:text/javascript,${encodeURIComponent(text)}`);

/** A board with one helper, whose opener does no work itself. */
function boardOfTwo(): { memory: CpuMemory; board: JobBoard; order: HelperOrder } {
  const memory = new CpuMemory({ isShared: true });
  const scratch = memory.scratch("panels", 2 * gemmFloats).offset;
  const board = new JobBoard(2);
  const module = compiledKernels(memory.memory);
  return { memory, board, order: { helpers: 1, memory: memory.memory, module, scratch, board: board.memory } };
}

const addJob = ({ from, to, bytes }: { from: number; to: number; bytes: number }) =>
  kernelJob({ name: "add", moving: [[from, 16], [to, 16]], count: { total: bytes, ofUnit: 16 }, unitNs: 1 });

Deno.test("CPU threads: a helper computes all of a job by itself; a trap in it fails the board with its text", async () => {
  const { memory, board, order } = boardOfTwo();
  const [from, to] = [memory.storage("from", 64), memory.storage("to", 64)];
  memory.upload(from, new Float32Array(64).fill(3));
  await new HelperThreads().start(order);
  board.open(addJob({ from: from.offset, to: to.offset, bytes: 256 }), { grain: 3 });
  board.finish();
  assertEquals(memory.floats(to).slice(), new Float32Array(64).fill(3));
  board.open(addJob({ from: -64, to: to.offset, bytes: 64 }), { grain: 1 });
  const text = "Cannot compute as a thread of this stage failed: RuntimeError: memory access out of bounds";
  assertThrows(() => board.finish(), ThreadError, text);
  assertThrows(() => board.check(), ThreadError, text); // and stays failed
});

Deno.test("CPU threads: a helper that dies wakes the thread that waits for it, with the reason", async () => {
  const { board, order } = boardOfTwo();
  const said: string[] = [];
  const [opened, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const opener = new Worker(new URL("./opener_worker.ts", import.meta.url), { type: "module" });
  opener.onmessage = ({ data }: MessageEvent<string>) => {
    said.push(data);
    if (data === "opened") opened.resolve();
    else ended.resolve();
  };
  opener.postMessage({ board: board.memory, threads: 2 });
  await opened.promise;
  const dying = codeOf(`onmessage = () => { postMessage({ type: "ready" }); throw new Error("struck down"); }`);
  await new HelperThreads(dying).start(order);
  await ended.promise;
  opener.terminate();
  assertEquals(said[0], "opened");
  assertEquals(said[1]?.startsWith("Cannot compute as a thread of this stage failed: "), true, said[1]);
  assertEquals(said[1]?.includes("struck down"), true, said[1]);
});

Deno.test("CPU threads: a stage whose helper cannot start is refused with the reason", async () => {
  const broken = new HelperThreads(codeOf(`throw new Error("no such code")`));
  const open = () => createCpuStage(wholeModel(), { threads: 3 }, { start: (order) => broken.start(order) });
  const error = await assertRejects(open, ThreadError, "Cannot start a thread of a stage: ");
  assertEquals(isDeviceLoss(error), true, "the same work may succeed on new threads");
});

Deno.test("CPU threads: workers closed in the middle of their work leave no thread behind", async () => {
  const args = ["run", "-A", "--no-check", "--quiet", new URL("./close_midway.ts", import.meta.url).href];
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), { args }).output(); // ends when its threads have
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  assertEquals({ code, out: text(stdout), error: text(stderr) }, { code: 0, out: "closed\n", error: "" });
});

Deno.test("CPU threads: shared memory ends where the plan says, with a sentence", async () => {
  const mebibyte = 2 ** 20;
  const memory = new CpuMemory({ isShared: true, mostBytes: 2 * mebibyte });
  memory.storage("a", mebibyte / 4);
  const message = "Cannot allocate 'b' of 1 MiB beside the stage's 2 MiB: a stage on the processor has at most 2 MiB";
  assertThrows(() => memory.storage("b", mebibyte / 4), OutOfMemoryError, message);
  const spec = wholeModel();
  const [one, three] = [await bytesOfCpuStage(spec), await bytesOfCpuStage(spec, { threads: 3 })];
  assertEquals(three - one >= 2 * 4 * gemmFloats, true, "every thread has its packed panels");
  (await createCpuStage(spec, { threads: 3 })).close(); // it fits what was planned, which is all that its memory has
});
