/** The page to talk to the model: one file without requests to anywhere else. */

import { createHash } from "node:crypto";
import page from "./talk_page.html" with { type: "text" };

const script = /<script>([^]*)<\/script>/.exec(page)?.[1] ?? "";
const hash = createHash("sha256").update(script).digest("base64");
const policy = `default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-${hash}'; connect-src 'self'`;

export function talkPage(model: string): { readonly html: string; readonly policy: string } {
  const escaped = model.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
  return { html: page.replaceAll("%model%", () => escaped), policy };
}
