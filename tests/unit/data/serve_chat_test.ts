/** A served chat model: OpenAI's shapes whole and streamed, the answer to a conversation, refusals. */

import { assert, assertEquals, assertMatch } from "@std/assert";
import { TextModel } from "../../../cli/model/generate/text_model.ts";
import { serveApi } from "../../../cli/model/serve/serve_api.ts";
import { TextService } from "../../../cli/model/serve/text_service.ts";
import { openModel } from "../../../cli/model/source/open_model.ts";
import { ChatTemplate } from "../../../cli/model/template/chat_template.ts";
import { processor } from "../../lab/world/devices.ts";
import { chatMl, writeChatModel } from "../../support/chat_vectors.ts";
import { withScratchFolder } from "../../support/scratch_folder.ts";

const limits = { contextLength: 64, mostTokens: 20, promptCharacters: 1_000 };
const messages = [{ role: "system", content: "Be kind" }, { role: "user", content: "Hello" }];
const asked = { messages, max_tokens: 6, seed: 7, temperature: 1 };

async function served(text = chatMl, ends = [256, 258]) {
  let opened: TextModel | null = null;
  await withScratchFolder(async (folder) => {
    await writeChatModel(folder, { ends });
    const source = await openModel(folder, () => {});
    opened = await TextModel.open(processor, source, { room: { streams: 2, rows: 8, length: limits.contextLength } });
  });
  const model = opened! as TextModel;
  const problems: unknown[] = [];
  const onFailed = (error: unknown) => problems.push(error);
  const service = new TextService(model, { mostWaiting: 2, onFailed });
  const chat = new ChatTemplate({ path: "chat_template.jinja", text, tokens: {} });
  const api = serveApi({ service, name: "toy", chat, limits, nowMs: () => 5_000, onProblem: onFailed });
  const page = async () => await (await api.request("/")).text();
  const post = async (body: unknown, path = "/v1/chat/completions") =>
    await api.request(path, { method: "POST", body: JSON.stringify(body) });
  return { page, post };
}

Deno.test("Served chat: the answer is the text that follows the template's, in OpenAI's shape", async () => {
  const { post } = await served(chatMl, [256]);
  const { id, choices, ...rest } = await (await post(asked)).json();
  assertMatch(id, /^chatcmpl-/);
  const written = "system\nBe kinduser\nHelloassistant\n".length + 2 * 2 + 1; // a token at each end of a turn
  assertEquals(rest, {
    ...{ object: "chat.completion", created: 5, model: "toy" },
    usage: { prompt_tokens: written, completion_tokens: 6, total_tokens: written + 6 },
  });
  const [{ message, ...choice }] = choices;
  assertEquals(choice, { index: 0, logprobs: null, finish_reason: "length" });
  assertEquals([message.role, message.refusal], ["assistant", null]);
  const ids = [257, ..."system\nBe kind", 258, 257, ..."user\nHello", 258, 257, ..."assistant\n"]
    .map((each) => typeof each === "number" ? each : each.charCodeAt(0));
  const plain = await (await post({ ...asked, messages: undefined, prompt: ids }, "/v1/completions")).json();
  assertEquals(message.content, plain.choices[0].text);
  const parts = messages.map(({ role, content }) => ({ role, content: [{ type: "text", text: content }] }));
  const again = await (await post({ ...asked, messages: parts, max_tokens: null, max_completion_tokens: 6 })).json();
  assertEquals(again.choices[0].message.content, message.content);
});

Deno.test("Served chat: a stream opens with the role, has the text in deltas, and ends with reason, usage and [DONE]", async () => {
  const { post } = await served();
  const whole = await (await post(asked)).json();
  const answer = await post({ ...asked, stream: true, stream_options: { include_usage: true } });
  assertMatch(answer.headers.get("content-type") ?? "", /^text\/event-stream/);
  const lines = (await answer.text()).split("\n").filter((line) => line !== "");
  assertEquals(lines.pop(), "data: [DONE]");
  const chunks = lines.map((line) => JSON.parse(line.replace(/^data: /, "")));
  assertEquals(new Set(chunks.map(({ object, id, model, created }) => [object, id, model, created].join())).size, 1);
  assertEquals(chunks[0].object, "chat.completion.chunk");
  assertEquals(chunks.pop().usage, whole.usage);
  const choices = chunks.map(({ choices }) => choices[0]);
  assertEquals(choices.shift(), {
    ...{ index: 0, delta: { role: "assistant", content: "" }, logprobs: null, finish_reason: null },
  });
  const last = choices.pop();
  assertEquals([last.delta, last.finish_reason], [{}, whole.choices[0].finish_reason]);
  assertEquals(choices.map(({ delta }) => delta.content).join(""), whole.choices[0].message.content);
  assert(choices.every(({ finish_reason }) => finish_reason === null));
});

Deno.test("Served chat: an answer ends where the context does, and a longer conversation is refused", async () => {
  const { post } = await served(chatMl, [256]);
  const { usage, choices } = await (await post({ ...asked, max_tokens: 20 })).json();
  assertEquals([usage.total_tokens, choices[0].finish_reason], [59, "length"]);
  const longer = [{ role: "user", content: "x".repeat(36) }];
  const near = await (await post({ ...asked, messages: longer, max_tokens: 20 })).json();
  assertEquals(near.usage, { prompt_tokens: 54, completion_tokens: 10, total_tokens: 64 });
  const refused = await post({ ...asked, messages: [{ role: "user", content: "x".repeat(50) }] });
  assertEquals(refused.status, 400);
  assertMatch((await refused.json()).error.message, /The messages have 68 tokens, and the model reads 64 at once/);
});

Deno.test("Served chat: what it does not compute, and what the template refuses, is said by name", async () => {
  const { post, page } = await served("{% if messages|length > 2 %}{{ raise_exception('Only two') }}{% endif %}");
  const refused = async (body: unknown, message: RegExp) => {
    const answer = await post(body);
    const { error } = await answer.json();
    assertEquals(answer.status, 400, error.message);
    assertMatch(error.message, message);
  };
  const user = { role: "user", content: "x" };
  await refused({ ...asked, messages: [] }, /^messages: must have a message/);
  await refused({ ...asked, messages: undefined }, /^messages: /);
  await refused(
    { ...asked, messages: [{ role: "root", content: "x" }] },
    /^messages\.0\.role: must be one of system, /,
  );
  await refused({ ...asked, messages: [{ role: "user", content: 7 }] }, /^messages\.0\.content: must be text/);
  await refused({ ...asked, messages: [{ role: "user", content: [{ type: "image_url" }] }] }, /^messages\.0\.content/);
  await refused({ ...asked, messages: Array(1001).fill(user) }, /^messages: /);
  await refused({ ...asked, n: 2 }, /more than one choice/);
  await refused({ ...asked, tools: [] }, /^tools: tools is not supported/);
  await refused({ ...asked, logprobs: true }, /^logprobs/);
  await refused({ ...asked, max_completion_tokens: 21 }, /^max_completion_tokens: .*20/);
  await refused({ ...asked, messages: [user, user, user] }, /chat_template\.jinja' refuses this: Only two/);
  await refused(asked, /makes nothing of these messages/);
  assertMatch(await page(), /<h1>toy<\/h1>\s+<p>The model continues the text here\. For a conversation use iota chat/);
});
