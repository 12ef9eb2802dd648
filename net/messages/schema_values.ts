/** The values in messages, as schemas with bounds. Objects are strict: an unknown key is a fault. */

import * as v from "valibot";
import { type FaultCode, type Parsed, parsed, refused } from "../../core/fault.ts";
import { blobHash, microbatchId, nodeId, stageIndex, type TaskId } from "../../core/ids.ts";

const largestText = 1024; // of a text for people
const largestList = 65_536; // the limit on header bytes applies first

export const text = v.pipe(v.string(), v.maxLength(largestText));
export const shortText = v.pipe(v.string(), v.maxLength(128));
export const httpUrl = v.pipe(
  v.string(),
  v.maxLength(256),
  v.regex(/^https?:\/\/[^\s/?#]+\/?$/, "must be an http address"),
);
export const flag = v.boolean();
export const finite = v.pipe(v.number(), v.finite());
export const count = v.pipe(v.number(), v.safeInteger(), v.minValue(0));
export const positiveCount = v.pipe(v.number(), v.safeInteger(), v.minValue(1));
export const u32 = v.pipe(count, v.maxValue(0xffff_ffff));
export const nonNegative = v.pipe(finite, v.minValue(0));
export const share = v.pipe(nonNegative, v.maxValue(1));
export const hex64 = v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/, "must be 64 lower-case hex digits"));
export const signature = v.pipe(v.string(), v.regex(/^[0-9a-f]{128}$/, "must be 128 lower-case hex digits"));

/** Checks only the alphabet and length of ss58; the signature check shows whether it is a key. */
export const address = v.pipe(
  v.string(),
  v.regex(/^[1-9A-HJ-NP-Za-km-z]{40,64}$/, "must be an ss58 address"),
  v.transform(nodeId),
);
export const role = v.picklist(["miner", "validator"]);
export const direction = v.picklist(["forward", "turnaround", "backward"]);
export const stage = v.pipe(u32, v.transform(stageIndex));
export const microbatch = v.pipe(count, v.transform(microbatchId));
export const traceparent = v.pipe(v.string(), v.regex(/^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/));

export const task = v.pipe(
  v.string(),
  v.regex(/^\d{1,16}\.\d{1,10}\.(forward|turnaround|backward)\.\d{1,10}$/, "must read like 12.1.forward.0"),
  v.transform((value) => value as TaskId),
);
export const blobRef = v.strictObject({ hash: v.pipe(hex64, v.transform(blobHash)), bytes: count });

export const faultCodes = [
  "malformedFrame",
  "malformedMessage",
  "limitExceeded",
  "versionMismatch",
  "unauthenticated",
  "notAdmitted",
  "unknownTask",
  "staleResult",
  "badBlob",
  "uploadFailed",
  "tooLarge",
  "badNumbers",
  "wrongPhase",
] as const satisfies readonly FaultCode[];
const upload = v.strictObject({
  status: v.nullable(v.pipe(count, v.maxValue(999))),
  bytes: count,
  clockMs: v.pipe(v.number(), v.integer(), v.minValue(-1e13), v.maxValue(1e13)), // three centuries
});
export const faultValue = v.strictObject({
  ...{ code: v.picklist(faultCodes), detail: text },
  upload: v.exactOptional(upload),
});

export function list<T extends v.GenericSchema>(item: T) {
  return v.pipe(v.array(item), v.maxLength(largestList));
}

/** `what` names the subject in the message: "a message", "a hello". */
export function parseWith<T extends v.GenericSchema>(
  schema: T,
  value: unknown,
  what: string,
): Parsed<v.InferOutput<T>> {
  const result = v.safeParse(schema, value, { abortEarly: true });
  if (result.success) return parsed(result.output);
  const issue = result.issues[0];
  const path = v.getDotPath(issue);
  const field = path === null ? "it" : `'${path.slice(0, 120)}'`;
  return refused("malformedMessage", `Cannot read ${what}: ${field} is invalid: ${issue.message.slice(0, 200)}`);
}
