/**
 * OpenAI's HTTP interface: /v1/completions, /v1/chat/completions and /v1/models, beside /health and a page to talk to the
 * model.
 */

import { bodyLimit } from "hono/body-limit";
import { Hono } from "hono";
import { readChat, readCompletion, RequestProblem, type ServeLimits } from "./completion_request.ts";
import { talkPage } from "./talk_page.ts";
import type { ChatTemplate } from "../template/chat_template.ts";
import { answered, chatForm, plainForm, type Texts } from "./text_answer.ts";
import type { TextService } from "./text_service.ts";

export interface ServeOptions {
  readonly service: TextService;
  readonly name: string; // the model's
  readonly chat: ChatTemplate | null; // of the model
  readonly limits: ServeLimits;
  readonly nowMs: () => number;
  readonly onProblem: (error: unknown) => void;
}

const bodyBytes = 2 ** 20;

export function serveApi(options: ServeOptions): Hono {
  const { service, name, nowMs, onProblem } = options;
  const seconds = () => Math.floor(nowMs() / 1_000);
  const api = new Hono();
  api.onError((error, context) => {
    const problem = error instanceof RequestProblem ? error : null;
    if (problem === null) onProblem(error);
    const status = problem?.status ?? 500;
    const message = problem?.message ?? "The model failed; its log says why";
    const type = status < 500 ? "invalid_request_error" : "server_error";
    const headers = { ...(status === 429 ? { "retry-after": "1" } : {}), "content-type": "application/json" };
    const body = { error: { message, type, param: problem?.param ?? null, code: null } };
    return context.body(JSON.stringify(body), { status: status as 400, headers });
  });
  api.notFound((context) =>
    context.json({ error: { message: `There is no ${context.req.path}`, type: "invalid_request_error" } }, 404)
  );
  api.get("/", (context) => {
    const { html, policy } = talkPage(name, { isChat: options.chat !== null });
    return context.html(html, 200, { "content-security-policy": policy });
  });
  api.get("/health", (context) => {
    const { open, waiting, tokens, requests } = service;
    return context.json({ status: "ok", model: name, open, waiting, requests, tokens });
  });
  api.get(
    "/v1/models",
    (context) =>
      context.json({ object: "list", data: [{ id: name, object: "model", created: seconds(), owned_by: "iota" }] }),
  );
  const tooLarge = () => {
    throw new RequestProblem(`A request must have at most ${bodyBytes} bytes`, { status: 413 });
  };
  api.use("/v1/*", bodyLimit({ maxSize: bodyBytes, onError: tooLarge }));
  const read = () => ({
    ...{ tokenizer: service.model.tokenizer, limits: options.limits },
    randomSeed: crypto.getRandomValues(new Uint32Array(1))[0]!,
  });
  const texts: Texts = { service, onProblem, headOf: () => ({ created: seconds(), model: name }) };
  api.post("/v1/completions", async (context) => {
    const request = readCompletion(await bodyOf(context.req), read());
    return await answered(context, { request, form: plainForm, texts });
  });
  api.post("/v1/chat/completions", async (context) => {
    const { chat: template } = options;
    if (template === null) {
      throw new RequestProblem(
        "This model was trained on plain text and has no chat template, so it cannot tell who speaks: use /v1/completions",
      );
    }
    const request = readChat(await bodyOf(context.req), { ...read(), template, date: new Date(nowMs()) });
    return await answered(context, { request, form: chatForm, texts });
  });
  return api;
}

async function bodyOf(request: { json(): Promise<unknown> }): Promise<unknown> {
  try {
    return await request.json();
  } catch (error) {
    if (error instanceof RequestProblem) throw error;
    throw new RequestProblem("The body must be JSON");
  }
}
