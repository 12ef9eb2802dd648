/** The page to talk to the model: one file without requests to anywhere else. */

import { createHash } from "node:crypto";
import page from "./talk_page.html" with { type: "text" };

const script = /<script>([^]*)<\/script>/.exec(page)?.[1] ?? "";
const hash = createHash("sha256").update(script).digest("base64");
const policy = `default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-${hash}'; connect-src 'self'`;

const continues = "The model continues the text. It has learned to go on with texts, not to answer.";
const chats =
  "The model continues the text here. For a conversation use iota chat, or a program with /v1/chat/completions.";

export function talkPage(
  model: string,
  { isChat }: { isChat: boolean },
): { readonly html: string; readonly policy: string } {
  const escaped = model.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
  const html = page.replace("%about%", isChat ? chats : continues).replaceAll("%model%", () => escaped);
  return { html, policy };
}
