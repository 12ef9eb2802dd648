/** The command with which a node joins a run, for any shell. */

import { parseEndpoints } from "../../chain/subtensor/connection/endpoints.ts";
import { chainWords, type NamedChain } from "../terminal/options/named_chain.ts";
import { pinWords } from "./hub_pin.ts";
import { shellWord } from "../program/shell_words.ts";
import { type Invite, inviteText, quotedInvite } from "./invite.ts";

interface JoinOptions {
  readonly role?: "miner" | "validate";
  readonly authorityFile?: string | null; // the certificate that nodes must trust
  readonly chain?: NamedChain | null;
}

/** Where no invite fits, options pin orchestrator and run. */
export function joinCommand(
  invite: Invite,
  { role = "miner", authorityFile = null, chain = null }: JoinOptions = {},
): string {
  const text = inviteText(invite);
  const words = text === null ? [`'${invite.socket}'`, ...pinWords(invite)] : [quotedInvite(text)];
  const trust = authorityFile === null ? [] : ["--tls-ca", shellWord(authorityFile)];
  const isPrivate = chain !== null && chain.network !== "none" && !parseEndpoints(chain.network).isPublic;
  const place = isPrivate ? chainWords(chain).map(shellWord) : [];
  return [`iota ${role} --orchestrator`, ...words, ...place, ...trust].join(" ");
}
