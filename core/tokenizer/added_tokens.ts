/**
 * Finds a tokenizer's added tokens in a text: of those that begin first, the longest (`tokenizers.AddedToken`). Unless
 * special tokens are looked for, one that a text spells stays text, as with `encode_special_tokens`; it only hides what
 * begins inside it.
 */

export interface AddedToken {
  readonly id: number;
  readonly content: string; // not empty
  readonly isSpecial: boolean;
  readonly isWord: boolean; // not inside another word
  readonly takesSpaceBefore: boolean;
  readonly takesSpaceBehind: boolean;
}

/** Text between tokens, and ids. */
export type TextPart = string | number;

interface Node {
  readonly next: Map<number, Node>; // by UTF-16 unit
  token: AddedToken | null;
}

export class AddedTokens {
  readonly #root: Node = { next: new Map(), token: null };

  constructor(tokens: readonly AddedToken[]) {
    for (const token of tokens) {
      let node = this.#root;
      for (let i = 0; i < token.content.length; i++) {
        const unit = token.content.charCodeAt(i);
        let next = node.next.get(unit);
        if (next === undefined) node.next.set(unit, next = { next: new Map(), token: null });
        node = next;
      }
      node.token = token;
    }
  }

  cut(text: string, { findsSpecial }: { findsSpecial: boolean }): TextPart[] {
    const parts: TextPart[] = [];
    let from = 0; // what is before is in `parts`
    for (const { token, at } of this.#matches(text)) {
      let [start, end] = [at, at + token.content.length];
      if ((token.isSpecial && !findsSpecial) || (token.isWord && isInWord(text, start, end))) continue;
      if (token.takesSpaceBefore) {
        while (start > from && isSpace(text, start - 1)) start -= 1;
      }
      if (token.takesSpaceBehind) {
        while (end < text.length && isSpace(text, end)) end += 1;
      }
      if (start < from) continue; // its beginning was space behind another
      if (start > from) parts.push(text.slice(from, start));
      parts.push(token.id);
      from = end;
    }
    if (from < text.length) parts.push(text.slice(from));
    return parts;
  }

  *#matches(text: string): Generator<{ token: AddedToken; at: number }> {
    const { next } = this.#root;
    if (next.size === 0) return;
    for (let at = 0; at < text.length; at++) {
      if (!next.has(text.charCodeAt(at))) continue;
      const token = this.#longestAt(text, at);
      if (token === null) continue;
      yield { token, at };
      at += token.content.length - 1;
    }
  }

  #longestAt(text: string, at: number): AddedToken | null {
    let [node, token]: [Node | undefined, AddedToken | null] = [this.#root, null];
    for (let i = at; node !== undefined; i++) {
      token = node.token ?? token;
      node = i < text.length ? node.next.get(text.charCodeAt(i)) : undefined;
    }
    return token;
  }
}

const isSpace = (text: string, at: number): boolean => /\p{White_Space}/u.test(text.charAt(at));

const wordBefore = /[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]$/u;
const wordBehind = /^[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]/u;

const isInWord = (text: string, start: number, end: number): boolean =>
  wordBefore.test(text.slice(Math.max(0, start - 2), start)) || wordBehind.test(text.slice(end, end + 2));
