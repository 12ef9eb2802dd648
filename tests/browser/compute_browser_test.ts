/**
 * The processor's backend in a real Chromium: an engine other than the one that Deno embeds must compute the same bits, on any
 * number of threads, or members on different engines would accuse each other.
 */

import { assertEquals, assertMatch } from "@std/assert";
import { noChromium, withPage } from "../support/browser/chromium.ts";
import { hashedSteps } from "../support/browser/hashed_steps.ts";
import { withScratchFolder } from "../support/scratch_folder.ts";
import { testWhere } from "../support/test_where.ts";

const steps = 50;
const programs = ["tests/support/browser/hashed_steps_worker.ts", "gpu/cpu/threads/helper_worker.ts"];

/** The worker and its helpers as JavaScript, side by side, by name. */
async function bundled(folder: string): Promise<Map<string, string>> {
  const args = ["bundle", "--quiet", "--no-check", "--platform", "browser", "--outdir", folder, ...programs];
  const { success, stderr } = await new Deno.Command(Deno.execPath(), { args, stdout: "null", stderr: "piped" })
    .output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  const files = new Map<string, string>();
  for (const program of programs) {
    const path = program.replace(/\.ts$/, ".js");
    files.set(`/${path.split("/").at(-1)}`, await Deno.readTextFile(`${folder}/${path}`));
  }
  return files;
}

/** Isolated, so that its workers may share memory. */
const headers = { "cross-origin-opener-policy": "same-origin", "cross-origin-embedder-policy": "require-corp" };

function answer({ url }: Request, files: ReadonlyMap<string, string>): Response {
  const { pathname } = new URL(url);
  const program = files.get(pathname);
  if (program !== undefined) {
    return new Response(program, { headers: { ...headers, "content-type": "text/javascript" } });
  }
  const type = pathname === "/" ? "text/html" : "text/plain";
  return new Response("", { headers: { ...headers, "content-type": type } });
}

testWhere(noChromium, "Browser: the processor's backend computes Deno's bits, with 1, 2 and 3 threads", async () => {
  const expected = await hashedSteps({ steps, threads: 1 });
  assertMatch(expected, /^[0-9a-f]{64}$/);
  await withScratchFolder(async (folder) => {
    const files = await bundled(folder);
    const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, (it) => answer(it, files));
    try {
      await withPage(`http://127.0.0.1:${server.addr.port}/`, {}, async ({ page, problems }) => {
        for (const threads of [1, 2, 3]) {
          const told = await page.evaluate((order) => {
            const { promise, resolve } = Promise.withResolvers<unknown>();
            const worker = new Worker("/hashed_steps_worker.js", { type: "module" });
            worker.onmessage = ({ data }) => resolve(data);
            worker.onerror = ({ message }) => resolve({ error: message });
            worker.postMessage(order);
            return promise;
          }, { steps, threads });
          assertEquals(told, { hash: expected }, `${threads} threads`);
        }
        assertEquals(problems, []);
      });
    } finally {
      await server.shutdown();
    }
  });
});
