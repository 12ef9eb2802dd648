/**
 * The page and a recording as one HTML document without a server. Its policy allows only this script and style, by
 * hash.
 */

import { assert, present } from "../../../core/assert.ts";
import type { Recording } from "./page/past.ts";
import { pageDocument, pageModules, pageStyle, programOf, withoutParts } from "./dashboard.ts";
import { publicMoment } from "../history/past.ts";
import type { RunHistory } from "../history/run_history.ts";
import type { PublicSpan, RunSnapshot } from "../public/public_shape.ts";
import { changesJson, partsOf, type SnapshotParts } from "./run_changes.ts";

const entry = "cli/observe/dashboard/page/main.ts";

export async function oneFile(recording: Recording): Promise<string> {
  const script = bundled(entry);
  const policy = [
    "default-src 'none'",
    `script-src '${await hashOf(script)}'`,
    `style-src '${await hashOf(pageStyle)}'`,
    "img-src data:",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  const parts: readonly (readonly [RegExp, string])[] = [
    [/ *<!-- served -->.*?<!-- \/served -->\n/gs, ""],
    [
      /<meta charset="utf-8">/,
      `<meta charset="utf-8">\n<meta http-equiv="content-security-policy" content="${policy}">`,
    ],
    [/<link rel="stylesheet"[^>]*>/, `<style>${pageStyle}</style>`],
    [/<script type="module"[^>]*><\/script>/, `<script type="module">${script}</script>`],
    [/<\/body>/, `<script type="application/octet-stream" id="recording">${await packed(recording)}</script></body>`],
  ];
  return parts.reduce((text, [pattern, replacement]) => {
    assert(text.search(pattern) !== -1, "the document has every part that an exported one replaces");
    return text.replace(pattern, () => replacement);
  }, withoutParts(pageDocument, ["beside", "owner"]));
}

/** Each module becomes a function, after those that it imports. */
export function bundled(main: string): string {
  const pieces = new Map<string, string>();
  const add = (path: string) => {
    if (pieces.has(path)) return;
    const source = programOf(present(pageModules[path], `the page has the module ${path}`));
    const imports = [...source.matchAll(importPattern)].map(([, , specifier]) => resolved(path, specifier!));
    for (const imported of imports) add(imported);
    pieces.set(path, scoped(path, source));
  };
  add(main);
  const script = `"use strict";\nconst modules = {};\n${[...pieces.values()].join("\n")}`;
  assert(!/<\/script|<!--/i.test(script), "the script does not end its element");
  return script;
}

const importPattern = /^import (\{[^}]*\}) from "([^"]+)";$/gm;
const exportPattern = /^export (?:async )?(?:function|const|class|let) (\w+)/gm;

function scoped(path: string, source: string): string {
  const names = [...source.matchAll(exportPattern)].map(([, name]) => name);
  const body = source
    .replace(
      importPattern,
      (_, list: string, specifier: string) =>
        `const ${list.replaceAll(/ as /g, ": ")} = modules[${JSON.stringify(resolved(path, specifier))}];`,
    )
    .replace(/^export /gm, "");
  return path === entry
    ? body
    : `modules[${JSON.stringify(path)}] = (() => {\n${body}\nreturn { ${names.join(", ")} };\n})();`;
}

const resolved = (path: string, specifier: string): string => new URL(specifier, `file:///${path}`).pathname.slice(1);

async function hashOf(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return `sha256-${new Uint8Array(digest).toBase64()}`;
}

/** Base64 of gzip: its characters cannot end the element. */
async function packed(recording: Recording): Promise<string> {
  const bytes = new Blob([JSON.stringify(recording)]).stream().pipeThrough(new CompressionStream("gzip"));
  return new Uint8Array(await new Response(bytes).arrayBuffer()).toBase64();
}

/** Evenly over the run's records. */
const mostMoments = 600;
const mostBytes = 2 ** 26; // before compression

export async function recordMoments(
  history: RunHistory,
  span: PublicSpan,
  onMoment: (done: number, count: number) => void = () => {},
): Promise<Recording | null> {
  const snapshot = (sequence: number) => history.at(sequence, publicMoment);
  const first = await snapshot(span.first);
  if (first === null) return null;
  const records = span.last - span.first;
  const newest = await snapshot(span.last) ?? first;
  const size = JSON.stringify(newest).length;
  const count = Math.min(records, mostMoments, Math.max(2, Math.floor(mostBytes / size)));
  const changes: string[] = [];
  let before = partsOf(first);
  for (let i = 1; i <= count; i++) {
    onMoment(i, count);
    const state = await snapshot(span.first + Math.round((i / count) * records));
    if (state === null || state.sequence <= before.sequence) continue;
    const after = partsOf(state);
    changes.push(changesJson(before, after) ?? nothingChanged(after));
    before = after;
  }
  return { span, first: first satisfies RunSnapshot, changes: changes.map((json) => JSON.parse(json)) };
}

const nothingChanged = ({ sequence, atMs }: SnapshotParts): string =>
  JSON.stringify({ sequence, atMs, run: {}, members: {}, conduct: {}, paces: {}, validators: {} });
