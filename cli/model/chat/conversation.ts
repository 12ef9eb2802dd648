/** A conversation within a model's context: when it no longer fits, its oldest turns leave, and system messages stay. */

import type { Message } from "../template/chat_template.ts";

export class Conversation {
  #messages: Message[] = [];
  #left = 0;

  get messages(): readonly Message[] {
    return this.#messages;
  }

  /** Messages that no longer fitted. */
  get left(): number {
    return this.#left;
  }

  add(message: Message): void {
    this.#messages.push(message);
  }

  /** Takes back the newest message. */
  drop(): void {
    this.#messages.pop();
  }

  /** Tokens of what fits into `most` of them; null: even the newest turn alone does not. */
  fit(encode: (messages: readonly Message[]) => number[], most: number): number[] | null {
    let kept = this.#messages;
    for (;;) {
      const tokens = encode(kept);
      if (tokens.length <= most) {
        this.#left += this.#messages.length - kept.length;
        this.#messages = kept;
        return tokens;
      }
      const shorter = withoutOldestTurn(kept);
      if (shorter === null) return null;
      kept = shorter;
    }
  }
}

const isSystem = ({ role }: Message): boolean => role === "system" || role === "developer";

/** A turn begins with a user's message. Null: there is only one. */
function withoutOldestTurn(messages: readonly Message[]): Message[] | null {
  const others = messages.filter((message) => !isSystem(message));
  const next = others.findIndex(({ role }, i) => i > 0 && role === "user");
  if (next < 0) return null;
  const gone = new Set(others.slice(0, next));
  return messages.filter((message) => !gone.has(message));
}
