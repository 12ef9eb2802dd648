/**
 * The body of an OpenAI-style request for a completion, of a text or of a conversation. Known fields that this server does not compute are refused, so
 * that nobody takes an answer for what it is not; unknown ones are ignored, as clients send their own.
 */

import * as v from "valibot";
import type { Tokenizer } from "../../../core/tokenizer/tokenizer.ts";
import { promptTokens } from "../generate/generate_text.ts";
import { TemplateProblem } from "../template/bounded_template.ts";
import { type ChatTemplate, roles } from "../template/chat_template.ts";

export interface CompletionRequest {
  readonly prompt: readonly number[]; // tokens
  readonly tokens: number;
  readonly temperature: number;
  readonly topP: number;
  readonly topK: number;
  readonly seed: number;
  readonly stops: readonly string[];
  readonly streams: boolean;
  readonly streamsUsage: boolean;
}

/** As a client gets it. */
export class RequestProblem extends Error {
  override name = "RequestProblem";
  readonly status: number;
  readonly param: string | null;

  constructor(message: string, { status = 400, param = null }: { status?: number; param?: string | null } = {}) {
    super(message);
    this.status = status;
    this.param = param;
  }
}

export interface ServeLimits {
  readonly contextLength: number; // tokens
  readonly mostTokens: number; // new ones of a request
  readonly promptCharacters: number;
}

const whole = (least: number, most: number) =>
  v.nullish(v.pipe(v.number(), v.safeInteger(), v.minValue(least), v.maxValue(most)));
const share = v.nullish(v.pipe(v.number(), v.minValue(0), v.maxValue(1)));
const stopText = v.pipe(v.string(), v.maxLength(100));
const absent = (what: string) => v.nullish(v.never(`${what} is not supported by this server`));

/** What requests of both kinds say about the text. */
const textShape = ({ mostTokens }: ServeLimits) => ({
  model: v.optional(v.string()),
  max_tokens: whole(0, mostTokens),
  temperature: v.nullish(v.pipe(v.number(), v.minValue(0), v.maxValue(100))),
  top_p: share,
  top_k: whole(0, 2 ** 20),
  seed: whole(0, 2 ** 32 - 1),
  stop: v.nullish(v.union([stopText, v.pipe(v.array(stopText), v.maxLength(4))])),
  stream: v.nullish(v.boolean()),
  stream_options: v.nullish(v.looseObject({ include_usage: v.nullish(v.boolean()) })),
  n: v.nullish(v.literal(1, "more than one choice is not supported by this server")),
});

type TextFields = v.InferOutput<v.ObjectSchema<ReturnType<typeof textShape>, undefined>>;

function completionShape(limits: ServeLimits) {
  const { promptCharacters } = limits;
  const text = v.pipe(v.string(), v.maxLength(promptCharacters));
  const ids = v.pipe(v.array(v.pipe(v.number(), v.safeInteger(), v.minValue(0))), v.maxLength(promptCharacters));
  return v.looseObject({
    ...textShape(limits),
    prompt: v.nullish(v.union([text, v.pipe(v.array(text), v.length(1)), ids], "must be one text, or token ids")),
    best_of: v.nullish(v.literal(1, "best_of above 1 is not supported by this server")),
    echo: v.nullish(v.literal(false, "echo is not supported by this server")),
    logprobs: absent("logprobs"),
    suffix: absent("suffix"),
  });
}

function chatShape(limits: ServeLimits) {
  const text = v.pipe(v.string(), v.maxLength(limits.promptCharacters));
  const part = v.object({ type: v.literal("text", "only parts of the type text are supported by this server"), text });
  const message = v.looseObject({
    role: v.picklist(roles, `must be one of ${roles.join(", ")}`),
    content: v.union([text, v.array(part)], "must be text, or parts of the type text"),
    tool_calls: absent("tool_calls"),
  });
  return v.looseObject({
    ...textShape(limits),
    messages: v.pipe(v.array(message), v.minLength(1, "must have a message"), v.maxLength(mostMessages)),
    max_completion_tokens: whole(0, limits.mostTokens),
    logprobs: v.nullish(v.literal(false, "logprobs is not supported by this server")),
    tools: absent("tools"),
    functions: absent("functions"),
    response_format: v.nullish(v.looseObject({ type: v.literal("text", "only text is supported by this server") })),
  });
}

const mostMessages = 1_000;
const usualTokens = 16; // as at OpenAI

export interface ReadOptions {
  readonly tokenizer: Tokenizer;
  readonly limits: ServeLimits;
  readonly randomSeed: number; // where the client gives none
}

/** Throws a `RequestProblem`. */
export function readCompletion(body: unknown, options: ReadOptions): CompletionRequest {
  const fields = readBody(body, completionShape(options.limits));
  const prompt = tokensOf(fields.prompt ?? "", options.tokenizer);
  const { contextLength, mostTokens } = options.limits;
  if (prompt.length > contextLength) throw tooLong("prompt", { tokens: prompt.length, contextLength });
  const tokens = fields.max_tokens ?? Math.min(usualTokens, mostTokens);
  return requestOf(fields, { prompt, tokens, randomSeed: options.randomSeed });
}

/** Throws a `RequestProblem`. The answer ends where the model's context does. */
export function readChat(
  body: unknown,
  { template, date, tokenizer, limits, randomSeed }: ReadOptions & { template: ChatTemplate; date: Date },
): CompletionRequest {
  const fields = readBody(body, chatShape(limits));
  const messages = fields.messages.map(({ role, content }) => ({
    role,
    content: typeof content === "string" ? content : content.map(({ text }) => text).join(""),
  }));
  const prompt = templated(() => template.encode(messages, { tokenizer, goesOn: true, date }));
  const { contextLength, mostTokens } = limits;
  if (prompt.length >= contextLength) throw tooLong("messages", { tokens: prompt.length, contextLength });
  const asked = fields.max_completion_tokens ?? fields.max_tokens ?? mostTokens;
  return requestOf(fields, { prompt, tokens: Math.min(asked, contextLength - prompt.length), randomSeed });
}

function templated(encode: () => number[]): number[] {
  try {
    const prompt = encode();
    if (prompt.length > 0) return prompt;
  } catch (error) {
    if (error instanceof TemplateProblem) throw new RequestProblem(error.message, { param: "messages" });
    throw error;
  }
  throw new RequestProblem("The model's chat template makes nothing of these messages", { param: "messages" });
}

function tooLong(param: string, { tokens, contextLength }: { tokens: number; contextLength: number }): RequestProblem {
  const what = param === "prompt" ? "prompt has" : "messages have";
  const message = `The ${what} ${tokens} tokens, and the model reads ${contextLength} at once: shorten `;
  return new RequestProblem(message + (param === "prompt" ? "it" : "them, as the answer needs room too"), { param });
}

function readBody<Shape extends v.GenericSchema>(body: unknown, shape: Shape): v.InferOutput<Shape> {
  const shaped = v.safeParse(shape, Array.isArray(body) ? null : body);
  if (shaped.success) return shaped.output;
  const [issue] = shaped.issues;
  const param = v.getDotPath(issue);
  const message = param === null ? `The body is not a request: ${issue.message}` : `${param}: ${issue.message}`;
  throw new RequestProblem(message, { param });
}

function requestOf(
  { temperature, top_p, top_k, seed, stop, stream, stream_options }: TextFields,
  { prompt, tokens, randomSeed }: { prompt: readonly number[]; tokens: number; randomSeed: number },
): CompletionRequest {
  return {
    ...{ prompt, tokens },
    temperature: temperature ?? 1,
    topP: top_p ?? 1,
    topK: top_k ?? 0,
    seed: seed ?? randomSeed,
    stops: stop === null || stop === undefined ? [] : [stop].flat(),
    streams: stream ?? false,
    streamsUsage: stream_options?.include_usage ?? false,
  };
}

function tokensOf(prompt: string | readonly string[] | readonly number[], tokenizer: Tokenizer): readonly number[] {
  const [first] = prompt;
  if (typeof prompt === "string" || typeof first === "string") return promptTokens(tokenizer, [prompt].flat().join(""));
  const ids = prompt as readonly number[];
  const beyond = ids.find((id) => id >= tokenizer.vocabSize);
  if (beyond !== undefined) {
    throw new RequestProblem(`Token ids must be below ${tokenizer.vocabSize}, and one is ${beyond}`, {
      param: "prompt",
    });
  }
  return ids.length > 0 ? ids : promptTokens(tokenizer, "");
}
