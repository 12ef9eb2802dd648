/**
 * The body of an OpenAI-style request for a completion. Known fields that this server does not compute are refused, so
 * that nobody takes an answer for what it is not; unknown ones are ignored, as clients send their own.
 */

import * as v from "valibot";
import type { Tokenizer } from "../../../core/tokenizer/tokenizer.ts";
import { promptTokens } from "../generate/generate_text.ts";

export interface CompletionRequest {
  readonly prompt: readonly number[]; // tokens
  readonly tokens: number;
  readonly temperature: number;
  readonly topP: number;
  readonly topK: number;
  readonly seed: number;
  readonly stops: readonly string[];
  readonly streams: boolean;
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

function bodyShape({ mostTokens, promptCharacters }: ServeLimits) {
  const text = v.pipe(v.string(), v.maxLength(promptCharacters));
  const ids = v.pipe(v.array(v.pipe(v.number(), v.safeInteger(), v.minValue(0))), v.maxLength(promptCharacters));
  return v.looseObject({
    model: v.optional(v.string()),
    prompt: v.nullish(v.union([text, v.pipe(v.array(text), v.length(1)), ids], "must be one text, or token ids")),
    max_tokens: whole(0, mostTokens),
    temperature: v.nullish(v.pipe(v.number(), v.minValue(0), v.maxValue(100))),
    top_p: share,
    top_k: whole(0, 2 ** 20),
    seed: whole(0, 2 ** 32 - 1),
    stop: v.nullish(v.union([stopText, v.pipe(v.array(stopText), v.maxLength(4))])),
    stream: v.nullish(v.boolean()),
    n: v.nullish(v.literal(1, "more than one choice is not supported by this server")),
    best_of: v.nullish(v.literal(1, "best_of above 1 is not supported by this server")),
    echo: v.nullish(v.literal(false, "echo is not supported by this server")),
    logprobs: absent("logprobs"),
    suffix: absent("suffix"),
  });
}

const usualTokens = 16; // as at OpenAI

/** Throws a `RequestProblem`. `randomSeed`: where the client gives none. */
export function readCompletion(
  body: unknown,
  { tokenizer, limits, randomSeed }: { tokenizer: Tokenizer; limits: ServeLimits; randomSeed: number },
): CompletionRequest {
  const shaped = v.safeParse(bodyShape(limits), Array.isArray(body) ? null : body);
  if (!shaped.success) {
    const [issue] = shaped.issues;
    const param = v.getDotPath(issue);
    throw new RequestProblem(
      param === null ? `The body is not a request: ${issue.message}` : `${param}: ${issue.message}`,
      {
        param,
      },
    );
  }
  const { prompt, max_tokens, temperature, top_p, top_k, seed, stop, stream } = shaped.output;
  const tokens = tokensOf(prompt ?? "", tokenizer);
  if (tokens.length > limits.contextLength) {
    throw new RequestProblem(
      `The prompt has ${tokens.length} tokens, and the model reads ${limits.contextLength} at once: shorten it`,
      { param: "prompt" },
    );
  }
  return {
    prompt: tokens,
    tokens: max_tokens ?? Math.min(usualTokens, limits.mostTokens),
    temperature: temperature ?? 1,
    topP: top_p ?? 1,
    topK: top_k ?? 0,
    seed: seed ?? randomSeed,
    stops: stop === null || stop === undefined ? [] : [stop].flat(),
    streams: stream ?? false,
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
