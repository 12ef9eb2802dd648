/**
 * A model's whole life, by the program's own processes: texts become a dataset, over a kill; a swarm trains on it; the
 * model is exported, measured and proven; the run goes on in other stages; and it is served.
 */

import { assert, assertEquals, assertMatch } from "@std/assert";
import { gzipSync } from "node:zlib";
import { SafetensorsFile } from "../../cli/model/tensors/safetensors.ts";
import { iota, IotaProcess, type Line } from "../support/process/iota_process.ts";
import { withScratchFolder } from "../support/scratch_folder.ts";

const words = "ship sea storm harbor captain sail night wind light rope".split(" ");
const textOf = (i: number) =>
  `${Array.from({ length: 50 }, (_, j) => words[(i * 7 + j * j + i * j) % words.length]).join(" ")} ${i}.`;
const linesOf = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, i) => `${JSON.stringify({ text: textOf(from + i) })}\n`).join("");

/** Serves a file by ranges. Until `opens`, an answer with all of it stops in the middle, and `isWaiting` says so. */
function slowServer(content: Uint8Array<ArrayBuffer>) {
  const [waiting, opened] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let isOpen = false;
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, (request) => {
    const [, from, to] = /bytes=(\d+)-(\d+)/.exec(request.headers.get("range") ?? "") ?? [];
    const part = content.slice(Number(from), Number(to) + 1);
    const headers = { "content-range": `bytes ${from}-${to}/${content.length}`, etag: '"one"' };
    if (isOpen || part.length < content.length) return new Response(part, { status: 206, headers });
    const body = new ReadableStream({
      async start(controller) {
        controller.enqueue(part.subarray(0, part.length / 2));
        waiting.resolve();
        await opened.promise;
        controller.close();
      },
      cancel: () => {},
    });
    return new Response(body, { status: 206, headers });
  });
  return {
    url: `http://127.0.0.1:${server.addr.port}/second.jsonl`,
    isWaiting: waiting.promise,
    opens() {
      isOpen = true;
      opened.resolve();
    },
    close: () => server.shutdown(),
  };
}

/** Its summary, the last of its lines. */
async function summaryOf(args: readonly string[], code = 0): Promise<Line> {
  const ended = await iota([...args, "--json"]);
  assertEquals(ended.code, code, `${args.join(" ")}: ${ended.stderr}`);
  return JSON.parse(ended.stdout.trimEnd().split("\n").at(-1)!);
}

/** Prepares three inputs; the process is killed in the third, when it has read the first two. */
async function preparedOverKill(folder: string): Promise<Line> {
  await Deno.writeTextFile(`${folder}/first.jsonl`, linesOf(0, 200));
  await Deno.writeFile(`${folder}/again.jsonl.gz`, new Uint8Array(gzipSync(linesOf(0, 50))));
  const third = slowServer(new TextEncoder().encode(linesOf(200, 600)));
  const inputs = ["--input", `${folder}/first.jsonl`, `${folder}/again.jsonl.gz`, third.url];
  const prepare = ["data", "prepare", ...inputs, "--out", `${folder}/texts`, "--vocab", "320"];
  const killed = new IotaProcess([...prepare, "--json"]);
  await third.isWaiting;
  killed.kill("SIGKILL");
  await killed.ended;
  const { state } = JSON.parse(await Deno.readTextFile(`${folder}/texts/.preparing/state.json`));
  assertEquals(state.read.length, 2);
  third.opens();
  const prepared = await summaryOf(prepare);
  await third.close();
  return prepared;
}

async function changeOneBit(model: string): Promise<void> {
  const path = `${model}/model.safetensors`;
  const file = await SafetensorsFile.open(path);
  file.close();
  const bytes = await Deno.readFile(path);
  bytes[file.header.dataStart + 1001]! ^= 1;
  await Deno.writeFile(path, bytes);
}

/** The text that a server streams, event by event. */
async function streamedText(url: string): Promise<string> {
  const answer = await fetch(`${url}/v1/completions`, {
    method: "POST",
    body: JSON.stringify({ prompt: "ship sea", max_tokens: 8, temperature: 0, stream: true }),
  });
  assertEquals(answer.status, 200);
  const events = (await answer.text()).trimEnd().split("\n\n").map((event) => event.replace(/^data: /, ""));
  assertEquals(events.pop(), "[DONE]");
  const choices = events.map((event) => JSON.parse(event).choices[0]);
  assertEquals(choices.at(-1).finish_reason, "length");
  assert(choices.length > 2, "it comes in parts");
  return choices.map(({ text }) => text).join("");
}

Deno.test("A model's life: prepared over a kill, trained, exported, measured, proven, trained on in other stages, served", async () => {
  await withScratchFolder(async (folder) => {
    const [texts, run, model] = [`${folder}/texts`, `${folder}/run`, `${folder}/model`];
    const prepared = await preparedOverKill(folder);
    const { hash, duplicates, documents, heldOutDocuments } = await summaryOf(["data", "show", texts]);
    assertEquals([hash, duplicates], [prepared.hash, 50]);
    assertEquals(Number(documents) + Number(heldOutDocuments), 600);

    const shape = ["--data-set", texts, "--size", "toy", "--codec", "none", "--replicas", "1", "--chain", "none"];
    const swarm = ["swarm", ...shape, "--device", "cpu", "--sample-tokens", "0", "--data", run];
    const trained = await summaryOf([...swarm, "--steps", "4", "--stages", "2"]);
    assertEquals([trained.finished, trained.steps, trained.stageHashesAgree], [true, 4, true]);
    assertEquals((await summaryOf(["export", "--run", run, "--out", model])).plainLlama, true);
    const { models } = await summaryOf([
      "eval",
      "--model",
      model,
      "--text",
      `${folder}/first.jsonl`,
      "--device",
      "cpu",
    ]);
    const [{ text }] = models as [{ text: { nats: number; tokens: number } }];
    assert(text.tokens > 1000 && text.nats > 1 && text.nats < Math.log(320) + 1, JSON.stringify(text));

    const proven = await iota(["verify", run, "--model", model]);
    assertEquals(proven.code, 0, proven.stderr);
    assertMatch(proven.stdout, /OK: the model's tensors are those of the merge for round 1/);
    await changeOneBit(model);
    const changed = await iota(["verify", run, "--model", model]);
    assertEquals(changed.code, 1);
    assertMatch(changed.stdout + changed.stderr, /NOT PROVEN: the tensors of stage 0 differ/);

    const goesOn = await summaryOf([...swarm, "--steps", "8", "--stages", "1"]);
    assertEquals([goesOn.finished, goesOn.steps, goesOn.resumedAtStep], [true, 8, 4]);
    assertEquals(goesOn.validationLossFirst, trained.validationLossLast, "one model, to the bit");
    assert(Number(goesOn.validationLossLast) < Number(goesOn.validationLossFirst));

    const server = new IotaProcess(["serve", "--run", run, "--port", "0", "--device", "cpu", "--json"]);
    const { url } = await server.lines.next("serving");
    const streamed = await streamedText(String(url));
    assert(streamed.length > 0);
    assertEquals(await streamedText(String(url)), streamed);
    server.kill("SIGTERM");
    assertEquals((await server.ended).code, 0);
  });
});
