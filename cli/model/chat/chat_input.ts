/** What a person types, or a program writes, to a chat: lines of text or, for programs, messages in JSON. */

import * as v from "valibot";
import { UserError } from "../../program/errors.ts";
import { type Message, roles } from "../template/chat_template.ts";

export interface ChatInput {
  readonly isTyped: boolean; // a person sits there
  readonly lines: AsyncIterable<string>;
}

export const standardInput = (): ChatInput => ({
  isTyped: Deno.stdin.isTerminal() && Deno.stdout.isTerminal(),
  lines: linesOf(Deno.stdin.readable),
});

const longestLine = 1_000_000; // characters

/** Lines without their ends; the last one need not end. */
export async function* linesOf(stream: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<string> {
  let open = "";
  for await (const piece of stream.pipeThrough(new TextDecoderStream())) {
    const lines = (open + piece).split("\n");
    open = lines.pop() ?? "";
    if (open.length > longestLine) {
      throw new UserError(`A line of the input has more than ${longestLine} characters`, {
        next: "Send a message in several lines",
      });
    }
    for (const line of lines) yield line.replace(/\r$/, "");
  }
  if (open !== "") yield open;
}

const messageShape = v.object({ role: v.picklist(roles), content: v.string() });
const lineShape = v.pipe(v.string(), v.parseJson(), messageShape);

/** A line of a program: a message in JSON, or a user's words. */
export function messageOf(line: string): Message {
  if (!/^\s*\{.*"role"/.test(line)) return { role: "user", content: line };
  const shaped = v.safeParse(lineShape, line);
  if (shaped.success) return shaped.output;
  const [issue] = shaped.issues;
  throw new UserError(`A line of the input is not a message (${v.getDotPath(issue) ?? "JSON"}: ${issue.message})`, {
    next: 'Write each as {"role": "user", "content": "…"} in one line, or as plain words',
  });
}
