/** The line that takes a miner to a run, to be pasted into any shell. */

import { pinWords } from "../run/hub_pin.ts";
import { type Invite, inviteText, quotedInvite } from "./invite.ts";

/** An address that no invite can hold is named with the words that pin its hub and run. */
export function joinCommand(invite: Invite): string {
  const text = inviteText(invite);
  const words = text === null ? [`'${invite.socket}'`, ...pinWords(invite)] : [quotedInvite(text)];
  return `iota miner --orchestrator ${words.join(" ")}`;
}
