/** Keys of a swarm that no stranger meets: the orchestrator has the first, members the next ones in the order of their start. */

import { nodeId } from "../../../core/ids.ts";
import { hotkeyOfMiniSecret } from "../../../chain/wallet/hotkey.ts";
import type { Signer } from "../../../net/auth/hello.ts";

export function worldSigner(index: number): Signer {
  const secret = new Uint8Array(32).fill(1);
  new DataView(secret.buffer).setUint32(0, index);
  const pair = hotkeyOfMiniSecret(secret);
  return { address: nodeId(pair.address), sign: (message) => pair.sign(message) };
}
