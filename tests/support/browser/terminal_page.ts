/** The live screen of a view as an HTML page, for a picture of the terminal. Base64, for a data: address. */

import { createPaint } from "../../../cli/terminal/text/paint.ts";
import { frame } from "../../../cli/observe/screen/panels.ts";
import type { RunView } from "../../../core/view/view.ts";

/** By the codes that picocolors writes. */
const looks: Readonly<Record<string, string>> = {
  1: "font-weight:bold",
  2: "opacity:.65",
  31: "color:#d1242f",
  32: "color:#1a9e5c",
  33: "color:#b5760a",
  36: "color:#1b8fb0",
};

const grounds = { light: "background:#fdfdfc;color:#1b1f24", dark: "background:#101418;color:#e8ebee" };

export function terminalPage(
  view: RunView,
  { nowMs, colorScheme }: { nowMs: number; colorScheme: "light" | "dark" },
): string {
  const lines = frame(view, { width: 100, height: 28, nowMs, paint: createPaint(true) });
  const style = `margin:0;padding:14px 18px;font:14px/1.35 monospace;${grounds[colorScheme]}`;
  const html = `<!doctype html><meta charset="utf-8"><body style="${
    grounds[colorScheme]
  };margin:0"><pre style="${style}">${lines.map(coloured).join("\n")}</pre>`;
  return new TextEncoder().encode(html).toBase64();
}

function coloured(line: string): string {
  let open = 0;
  // deno-lint-ignore no-control-regex -- the escape character is what this is about
  const spans = line.replace(/[&<>]/g, (sign) => `&#${sign.charCodeAt(0)};`).replace(/\x1b\[(\d+)m/g, (_, code) => {
    const look = looks[code];
    if (look === undefined) return open-- > 0 ? "</span>" : "";
    open += 1;
    return `<span style="${look}">`;
  });
  return spans + "</span>".repeat(Math.max(0, open));
}
