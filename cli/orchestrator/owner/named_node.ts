/** Which node an owner means: an address, its beginning, or a wallet's name in the run's folder. */

import { hotkeyExists } from "../../../chain/wallet/hotkey_files.ts";
import { hotkeyAddress } from "../../../chain/wallet/wallet_list.ts";
import { type Parsed, parsed, refused } from "../../../core/fault.ts";
import { type NodeId, nodeId } from "../../../core/ids.ts";
import { UsageError } from "../../program/errors.ts";

/** Easy to type; one in some 60 million pairs of addresses shares them. */
const fewestCharacters = 6;

export const beginningPattern = new RegExp(`^[1-9A-HJ-NP-Za-km-z]{${fewestCharacters},64}$`);

/** `which`: "member of the run". */
export function nodeNamed(text: string, { nodes, which }: { nodes: Iterable<string>; which: string }): Parsed<NodeId> {
  const found = [...nodes].filter((node) => node.startsWith(text));
  const [first, ...others] = found;
  if (first !== undefined && (others.length === 0 || found.includes(text))) {
    return parsed(nodeId(found.includes(text) ? text : first));
  }
  return first === undefined
    ? refused("notAdmitted", `There is no ${which} whose address is or begins with ${text}`)
    : refused("notAdmitted", `${found.length} addresses begin with ${text}: ${found.join(", ")}`);
}

export async function addressOrBeginning(text: string, folder: string | undefined): Promise<string> {
  const place = { folder: `${folder}/wallets`, wallet: text, hotkey: "default" };
  const isName = folder !== undefined && /^[\w.-]+$/.test(text) && !text.startsWith(".");
  if (isName && await hotkeyExists(place)) return await hotkeyAddress(place);
  if (beginningPattern.test(text)) return text;
  throw new UsageError(
    `There is no node '${text}'; give at least ${fewestCharacters} characters of its address` +
      (folder === undefined ? "" : `, or the name of a wallet in '${folder}/wallets'`),
    { next: "See the members and their addresses: iota dashboard, or the orchestrator's screen" },
  );
}
