/**
 * What people read in this repository: comments, strings that are sentences, and the prose of markdown.
 *
 * Names are out of its scope: a string without a space is a field, a type or a setting, and code in backquotes, links
 * and code blocks are not prose, nor are file names. A template reads with "…" for what it computes, and so does code in backquotes.
 */

import type { SourceFile } from "./source_tree.ts";

export interface ProseText {
  readonly kind: "comment" | "string" | "markdown";
  /** Line of the file where it begins, from 1. */
  readonly line: number;
  /** Without comment marks; it keeps its line breaks, so that a place in it has a line. */
  readonly text: string;
}

const COMMENT_MARK = /^[ \t]*\*?[ \t]?/gm;
/** Code, file names and addresses, on one line each. */
const NOT_PROSE = /`[^`\n]*`|https?:\/\/\S+|\]\([^)\n]*\)|[\w./-]+\.(?:ts|json|toml)\b/g;

const withoutCode = (text: string): string => text.replace(NOT_PROSE, "…");

/** Line comments directly below one another are one text. */
function joinLineComments(comments: readonly ProseText[], joinable: readonly boolean[]): ProseText[] {
  const joined: ProseText[] = [];
  comments.forEach((comment, i) => {
    const last = joined.at(-1);
    const lines = last?.text.split("\n").length ?? 0;
    if (last !== undefined && joinable[i] && joinable[i - 1] && last.line + lines === comment.line) {
      joined[joined.length - 1] = { ...last, text: `${last.text}\n${comment.text}` };
    } else joined.push(comment);
  });
  return joined;
}

/** Comments and strings of a module, from the linter's own parser. */
function textsOfModule({ path, text }: SourceFile): ProseText[] {
  const starts = [0];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  function lineAt(offset: number): number {
    let low = 0;
    let high = starts.length;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (starts[middle]! <= offset) low = middle;
      else high = middle;
    }
    return low + 1;
  }
  const strings: ProseText[] = [];
  const comments: ProseText[] = [];
  const joinable: boolean[] = [];
  function addString(value: string, offset: number): void {
    if (value.trim().includes(" ")) strings.push({ kind: "string", line: lineAt(offset), text: withoutCode(value) });
  }
  const visitor: Deno.lint.LintVisitor = {
    Literal: (node) => typeof node.value === "string" ? addString(node.value, node.range[0]) : undefined,
    TemplateLiteral: (node) => addString(node.quasis.map((each) => each.cooked).join("…"), node.range[0]),
  };
  const create = (context: Deno.lint.RuleContext): Deno.lint.LintVisitor => {
    for (const { type, value, range } of context.sourceCode.getAllComments()) {
      const prose = withoutCode(value.replace(COMMENT_MARK, ""));
      comments.push({ kind: "comment", line: lineAt(range[0]), text: prose });
      joinable.push(type === "Line" && text.slice(starts[lineAt(range[0]) - 1], range[0]).trim() === "");
    }
    return visitor;
  };
  Deno.lint.runPlugin({ name: "prose", rules: { collect: { create } } }, path, text);
  return [...joinLineComments(comments, joinable), ...strings];
}

/** A paragraph is a text; blocks of code are left out. */
function textsOfMarkdown(text: string): ProseText[] {
  const plain = text.replace(/^```[\s\S]*?^```/gm, (block) => block.replace(/[^\n]+/g, ""));
  const found: ProseText[] = [];
  let line = 1;
  for (const part of plain.split(/(\n\s*\n)/)) {
    if (part.trim() !== "") found.push({ kind: "markdown", line, text: withoutCode(part) });
    line += part.split("\n").length - 1;
  }
  return found;
}

/** Prose of a file; nothing for a file of another kind. */
export function proseTexts(file: SourceFile): ProseText[] {
  if (file.path.endsWith(".md")) return textsOfMarkdown(file.text);
  return file.path.endsWith(".ts") ? textsOfModule(file) : [];
}
