/** A served model: OpenAI's shapes, streams, stop strings, limits, clients that leave, failures. */

import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { generateText } from "../../../cli/model/generate/generate_text.ts";
import { TextModel } from "../../../cli/model/generate/text_model.ts";
import { serveApi } from "../../../cli/model/serve/serve_api.ts";
import { TextService } from "../../../cli/model/serve/text_service.ts";
import { TextStream } from "../../../cli/model/generate/text_stream.ts";
import { processor } from "../../lab/world/devices.ts";
import { toyModel, toyTokenizer } from "../../support/toy_model.ts";

const contextLength = 16;
const limits = { contextLength, mostTokens: 12, promptCharacters: 1_000 };

async function served({ streams = 2, mostWaiting = 8 } = {}) {
  const room = { streams, rows: 4, length: contextLength };
  const model = await TextModel.open(processor, toyModel({ contextLength }), { room });
  const problems: unknown[] = [];
  const service = new TextService(model, { mostWaiting, onFailed: (error) => problems.push(error) });
  const api = serveApi({
    service,
    ...{ name: "toy", chat: null },
    limits,
    nowMs: () => 5_000,
    onProblem: (error) => problems.push(error),
  });
  const post = async (body: unknown, path = "/v1/completions") =>
    await api.request(path, { method: "POST", body: typeof body === "string" ? body : JSON.stringify(body) });
  return { model, service, api, post, problems };
}

const asked = { prompt: "The ", max_tokens: 10, seed: 7, temperature: 1 };
const sampling = { temperature: 1, topK: 0, seed: 7, tokens: 10 };

Deno.test("Text stream: a character of several bytes comes whole, and a broken one as U+FFFD at the end", () => {
  const stream = new TextStream(toyTokenizer, []);
  assertEquals([..."aé€"].length, 3);
  const bytes = [...new TextEncoder().encode("aé€"), 0xe2];
  assertEquals(bytes.map((byte) => stream.take(byte)), ["a", "", "é", "", "", "€", ""]);
  assertEquals(stream.end(), "\ufffd");
});

Deno.test("Text stream: text ends before the first stop string, also one that comes in pieces", () => {
  const stream = new TextStream(toyTokenizer, ["\n\n", "END"]);
  const pieces = [..."one E\nEN two END three"].map((letter) => stream.take(letter.charCodeAt(0)));
  assertEquals([pieces.join(""), stream.isStopped, stream.end()], ["one E\nEN two ", true, ""]);
  const open = new TextStream(toyTokenizer, ["END"]);
  assertEquals([..."an EN"].map((letter) => open.take(letter.charCodeAt(0))).join("") + open.end(), "an EN");
});

Deno.test("Served model: a completion is what iota generate makes, in OpenAI's shape", async () => {
  const { model, post } = await served();
  const answer = await post(asked);
  const { id, choices, ...rest } = await answer.json();
  assertMatch(id, /^cmpl-/);
  assertEquals(rest, {
    ...{ object: "text_completion", created: 5, model: "toy" },
    usage: { prompt_tokens: 4, completion_tokens: 10, total_tokens: 14 },
  });
  const text = await generateText({ ...sampling, model, prompt: asked.prompt });
  assertEquals(choices, [{ text, index: 0, logprobs: null, finish_reason: "length" }]);
});

Deno.test("Served model: a streamed text is the same in pieces, and ends with [DONE]", async () => {
  const { model, post } = await served();
  const answer = await post({ ...asked, stream: true });
  assertMatch(answer.headers.get("content-type") ?? "", /^text\/event-stream/);
  const lines = (await answer.text()).split("\n").filter((line) => line !== "");
  assertEquals(lines.pop(), "data: [DONE]");
  const choices = lines.map((line) => JSON.parse(line.replace(/^data: /, "")).choices[0]);
  assertEquals(choices.map(({ text }) => text).join(""), await generateText({ ...sampling, model, prompt: "The " }));
  assertEquals(choices.map((choice) => choice.finish_reason).filter((reason) => reason !== null), ["length"]);
});

Deno.test("Served model: several requests are computed together, each as if it were alone", async () => {
  const { model, service, post } = await served();
  const prompts = ["The ", "a", "of it", "Where", "x"];
  const expected: string[] = [];
  for (const prompt of prompts) expected.push(await generateText({ ...sampling, model, prompt }));
  const answers = await Promise.all(prompts.map(async (prompt) => await (await post({ ...asked, prompt })).json()));
  assertEquals(answers.map(({ choices: [choice] }) => choice.text), expected);
  assertEquals([service.open, service.waiting, service.requests], [0, 0, 5]);
});

Deno.test("Served model: what it does not compute, or not so much, is refused by name", async () => {
  const { post, api } = await served();
  const refused = async (body: unknown, status: number, message: RegExp, path?: string) => {
    const answer = await post(body, path);
    const { error } = await answer.json();
    assertEquals(answer.status, status, error.message);
    assertMatch(error.message, message);
  };
  await refused("{", 400, /must be JSON/);
  await refused([], 400, /not a request|Object/);
  await refused({ ...asked, max_tokens: 13 }, 400, /^max_tokens: .*12/);
  await refused({ ...asked, max_tokens: 1.5 }, 400, /^max_tokens/);
  await refused({ ...asked, temperature: -1 }, 400, /^temperature/);
  await refused({ ...asked, n: 2 }, 400, /more than one choice/);
  await refused({ ...asked, logprobs: 3 }, 400, /^logprobs/);
  await refused({ ...asked, stop: ["a", "b", "c", "d", "e"] }, 400, /^stop/);
  await refused({ ...asked, prompt: "x".repeat(contextLength + 1) }, 400, /has 17 tokens, and the model reads 16/);
  await refused({ ...asked, prompt: [300] }, 400, /below 257, and one is 300/);
  await refused(" ".repeat(2 ** 20 + 1), 413, /at most 1048576 bytes/);
  await refused({ messages: [] }, 400, /no chat template/, "/v1/chat/completions");
  assertEquals((await api.request("/v2")).status, 404);
  assertEquals((await (await api.request("/v1/models")).json()).data[0].id, "toy");
  assertMatch((await api.request("/")).headers.get("content-security-policy") ?? "", /script-src 'sha256-/);
});

Deno.test("Served model: beyond its queue it says that it is busy, and the others are answered", async () => {
  const { post } = await served({ streams: 1, mostWaiting: 2 });
  const answers = await Promise.all(Array.from({ length: 6 }, () => post(asked)));
  const busy = answers.filter(({ status }) => status === 429);
  assert(busy.length > 0 && busy.length < 6, `${busy.length} were refused`);
  assertEquals(busy[0]!.headers.get("retry-after"), "1");
  assertEquals(answers.filter(({ status }) => status === 200).length, 6 - busy.length);
});

Deno.test("Served model: a client that leaves frees its place", async () => {
  const { service } = await served({ streams: 1 });
  const leaves = new AbortController();
  const request = { ...sampling, prompt: [84], topP: 1, stops: [], streams: false, streamsUsage: false };
  let pieces = 0;
  const onText = () => {
    pieces += 1;
    leaves.abort();
  };
  const end = await service.complete(request, { onText, signal: leaves.signal });
  assertEquals([end.reason, end.tokens, pieces], ["stop", 1, 1]);
  assertEquals([service.open, service.waiting], [0, 0]);
});

Deno.test("Served model: a device that fails ends every request with its error", async () => {
  const { model, service, post, problems } = await served();
  model.next = () => Promise.reject(new Error("the device is lost"));
  assertEquals((await post(asked)).status, 500);
  assertEquals(problems.map((error) => (error as Error).message), ["the device is lost", "the device is lost"]);
  const request = { ...sampling, prompt: [84], topP: 1, stops: [], streams: false, streamsUsage: false };
  await assertRejects(
    () => service.complete(request, { onText: () => {}, signal: AbortSignal.abort() }),
    Error,
    "lost",
  );
});

Deno.test("Served model: its page names the model, and allows no script but its own", async () => {
  const { api, model } = await served();
  const answer = await api.request("/");
  const page = await answer.text();
  assertMatch(page, /<title>toy<\/title>/);
  assertMatch(page, /<h1>toy<\/h1>/);
  assertMatch(answer.headers.get("content-security-policy") ?? "", /default-src 'none'.*script-src 'sha256-/);
  model.close();
});
