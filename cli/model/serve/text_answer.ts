/** Answers to requests for text, whole or as a stream of events, in the forms that OpenAI has for texts and for conversations. */

import type { Context } from "hono";
import { streamSSE } from "hono/streaming";
import { type CompletionRequest, RequestProblem } from "./completion_request.ts";
import type { TextEnd, TextService } from "./text_service.ts";

type Reason = TextEnd["reason"] | null; // null: there is more

/** How a text is wrapped. */
interface AnswerForm {
  readonly prefix: string; // of ids
  readonly whole: { readonly object: string; choice(text: string, reason: Reason): object };
  readonly piece: {
    readonly object: string;
    readonly opening: object | null; // a choice before the text
    choice(text: string, reason: Reason): object;
  };
}

const textChoice = (text: string, reason: Reason) => ({ text, index: 0, logprobs: null, finish_reason: reason });

export const plainForm: AnswerForm = {
  prefix: "cmpl-",
  whole: { object: "text_completion", choice: textChoice },
  piece: { object: "text_completion", opening: null, choice: textChoice },
};

const deltaChoice = (delta: object, reason: Reason) => ({ index: 0, delta, logprobs: null, finish_reason: reason });

export const chatForm: AnswerForm = {
  prefix: "chatcmpl-",
  whole: {
    object: "chat.completion",
    choice: (content, reason) => ({
      ...{ index: 0, message: { role: "assistant", content, refusal: null }, logprobs: null, finish_reason: reason },
    }),
  },
  piece: {
    object: "chat.completion.chunk",
    opening: deltaChoice({ role: "assistant", content: "" }, null),
    choice: (content, reason) => deltaChoice(content === "" ? {} : { content }, reason),
  },
};

export interface Texts {
  readonly service: TextService;
  readonly onProblem: (error: unknown) => void;
  readonly headOf: () => { readonly created: number; readonly model: string };
}

interface Asked {
  readonly request: CompletionRequest;
  readonly form: AnswerForm;
  readonly texts: Texts;
}

export async function answered(context: Context, { request, form, texts }: Asked): Promise<Response> {
  const { whole, prefix } = form;
  const head = { id: `${prefix}${crypto.randomUUID()}`, ...texts.headOf() };
  if (request.streams) return streamed(context, { request, form, texts, head });
  let text = "";
  const { signal } = context.req.raw;
  const end = await texts.service.complete(request, { signal, onText: (piece) => text += piece });
  const choices = [whole.choice(text, end.reason)];
  return context.json({ ...head, object: whole.object, choices, usage: usageOf(request, end) });
}

function streamed(
  context: Context,
  { request, form: { piece: form }, texts, head }: Asked & { head: object },
): Response {
  return streamSSE(context, async (stream) => {
    const leaves = new AbortController();
    stream.onAbort(() => leaves.abort());
    let written: Promise<void> = Promise.resolve();
    const write = (fields: object) => {
      const data = JSON.stringify({ ...head, object: form.object, ...fields });
      written = written.then(() => stream.writeSSE({ data }));
    };
    if (form.opening !== null) write({ choices: [form.opening] });
    const signal = AbortSignal.any([context.req.raw.signal, leaves.signal]);
    const onText = (text: string) => write({ choices: [form.choice(text, null)] });
    const end = await texts.service.complete(request, { signal, onText });
    write({ choices: [form.choice("", end.reason)] });
    if (request.streamsUsage) write({ choices: [], usage: usageOf(request, end) });
    await written;
    await stream.writeSSE({ data: "[DONE]" });
  }, async (error, stream) => {
    if (!(error instanceof RequestProblem)) texts.onProblem(error);
    await stream.writeSSE({ data: JSON.stringify({ error: { message: error.message, type: "server_error" } }) });
  });
}

const usageOf = ({ prompt }: CompletionRequest, { tokens }: TextEnd) => ({
  ...{ prompt_tokens: prompt.length, completion_tokens: tokens, total_tokens: prompt.length + tokens },
});
