/** Requests of a run's owner, parsed from a stranger's bytes. */

import * as v from "valibot";
import { knobAt } from "../../../core/config/knobs.ts";
import { type Fault, type Parsed, parsed, refused } from "../../../core/fault.ts";
import { beginningPattern } from "./named_node.ts";

export type OwnerRequest =
  | { readonly action: "pause" | "resume" | "stop" | "stopAfterRound" }
  | { readonly action: "kick" | "admit"; readonly node: string }
  | { readonly action: "rate"; readonly learningRate: number };

/** For another run of the same owner, it does nothing here. */
export interface OwnerCall {
  readonly run: string;
  readonly request: OwnerRequest;
}

const rate = knobAt("train.learningRate");
const { min, max } = rate.kind === "float" ? rate : { min: 0, max: 0 };

const rateRule = `must be ${min} to ${max}`;

const requestShape = v.variant("action", [
  v.strictObject({ action: v.picklist(["pause", "resume", "stop", "stopAfterRound"]) }),
  v.strictObject({ action: v.picklist(["kick", "admit"]), node: v.pipe(v.string(), v.regex(beginningPattern)) }),
  v.strictObject({
    action: v.literal("rate"),
    learningRate: v.pipe(v.number(rateRule), v.minValue(min, rateRule), v.maxValue(max, rateRule)),
  }),
]);
const callShape = v.strictObject({ run: v.pipe(v.string(), v.maxLength(128)), request: requestShape });

export const readOwnerCall = (text: string): Parsed<OwnerCall> => readAs(callShape, text);

/** Of the owner's own page, which knows one run. */
export const readOwnerRequest = (text: string): Parsed<OwnerRequest> => readAs(requestShape, text);

function readAs<Shape extends typeof callShape | typeof requestShape>(
  shape: Shape,
  text: string,
): Parsed<v.InferOutput<Shape>> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return refused("malformedMessage", "The request is not JSON");
  }
  const { success, output, issues } = v.safeParse(shape, value);
  if (success) return parsed(output);
  const [{ message, input }] = issues;
  const where = v.getDotPath(issues[0]) ?? "the request";
  const isRate = message === rateRule;
  const rule = isRate ? `${message}, but is ${JSON.stringify(input)}` : "is not valid in an owner's request";
  return refused("malformedMessage", `${where} ${rule}`);
}

const mostBytes = 4_096;

export async function readBody({ body }: Request): Promise<Parsed<string>> {
  let text = "";
  if (body === null) return { ok: true, value: text };
  for await (const part of body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>)) {
    text += part;
    if (text.length > mostBytes) {
      return refused("limitExceeded", `The request is longer than ${mostBytes} characters`);
    }
  }
  return { ok: true, value: text };
}

const statusOf: Partial<Record<Fault["code"], number>> = {
  unauthenticated: 401,
  notAdmitted: 403,
  wrongPhase: 409,
  limitExceeded: 429,
};

export const headers = { "cache-control": "no-store", "x-content-type-options": "nosniff" };

export const refusal = ({ code, detail }: Fault): Response =>
  Response.json({ code, detail }, { status: statusOf[code] ?? 400, headers });

export const answerOf = (done: Parsed<string>): Response =>
  done.ok ? Response.json({ text: done.value }, { headers }) : refusal(done.fault);
