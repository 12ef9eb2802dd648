/** Orchestrator addresses as people write them: `host:port`, `http://…`, `ws://…`, an invite. */

import { UsageError } from "../program/errors.ts";
import { inviteRule, isInvite, readInvite } from "../address/invite.ts";

export interface HubAddress {
  readonly socket: string;
  readonly http: string; // http:// or https://, without a slash at the end
}

const schemes: Readonly<Record<string, [string, string]>> = {
  "ws:": ["ws:", "http:"],
  "http:": ["ws:", "http:"],
  "wss:": ["wss:", "https:"],
  "https:": ["wss:", "https:"],
};

/** Strips what copying leaves around a word: blanks, line ends, a second pair of quotes. */
export const bareWord = (text: string): string => text.trim().replace(/^(['"`])(.*)\1$/s, "$2").trim();

export function hubAddress(given: string): HubAddress {
  const text = bareWord(given);
  if (isInvite(text)) return hubAddress(invited(text));
  const url = URL.parse(text.includes("://") ? text : `ws://${text}`);
  const pair = url === null ? undefined : schemes[url.protocol];
  if (url === null || pair === undefined || url.hostname === "") {
    throw new UsageError(
      `--orchestrator must be an address or an invite, but is '${text}'`,
      {
        next: "For example: --orchestrator ws://127.0.0.1:9009",
      },
    );
  }
  const rest = `//${url.host}${url.pathname.replace(/\/+$/, "")}`;
  return { socket: `${pair[0]}${rest}`, http: `${pair[1]}${rest}` };
}

function invited(text: string): string {
  const invite = readInvite(text);
  if (invite !== null) return invite.socket;
  const next = text.includes("#")
    ? "Copy the whole invite again from the line that the orchestrator prints when it listens"
    : "Put the invite in quotes, as a shell may take # for a comment: --orchestrator 'iota://HOST:PORT/RUN#KEY'";
  const rule = inviteRule(text);
  throw new UsageError(`Cannot use --orchestrator '${text}': ${rule}`, { next });
}
