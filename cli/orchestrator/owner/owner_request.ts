/** What a run's owner may ask of its orchestrator, parsed from a stranger's bytes. */

import * as v from "valibot";
import { knobAt } from "../../../core/config/knobs.ts";
import { type Parsed, parsed, refused } from "../../../core/fault.ts";
import { beginningPattern } from "./named_node.ts";

export type OwnerRequest =
  | { readonly action: "pause" | "resume" | "stop" | "stopAfterRound" }
  | { readonly action: "kick" | "admit"; readonly node: string } // its address or a beginning of it
  | { readonly action: "rate"; readonly learningRate: number };

/** Signed for another run of the same owner, it does nothing here. */
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
