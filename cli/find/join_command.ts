/** The command with which a miner joins a run, for any shell. */

import { pinWords } from "../node/hub_pin.ts";
import { shellWord } from "../shell_words.ts";
import { type Invite, inviteText, quotedInvite } from "./invite.ts";

/**
 * `authorityFile`: the certificate that nodes must trust. An address that does not fit an invite is given with the
 * options that pin its hub and run.
 */
export function joinCommand(invite: Invite, { authorityFile = null }: { authorityFile?: string | null } = {}): string {
  const text = inviteText(invite);
  const words = text === null ? [`'${invite.socket}'`, ...pinWords(invite)] : [quotedInvite(text)];
  const trust = authorityFile === null ? [] : ["--tls-ca", shellWord(authorityFile)];
  return ["iota miner --orchestrator", ...words, ...trust].join(" ");
}
