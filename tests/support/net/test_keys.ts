/** Real sr25519 hotkeys from fixed seeds, for tests of everything that signs. */

import {
  cryptoWaitReady,
  decodeAddress,
  encodeAddress,
  sr25519PairFromSeed,
  sr25519Sign,
  sr25519Verify,
} from "@polkadot/util-crypto";
import { nodeId } from "../../../core/ids.ts";
import type { Signer, Verify } from "../../../net/auth/hello.ts";

await cryptoWaitReady();

const chainPrefix = 42;

export function testSigner(seed: number): Signer {
  const pair = sr25519PairFromSeed(new Uint8Array(32).fill(seed));
  return {
    address: nodeId(encodeAddress(pair.publicKey, chainPrefix)),
    sign: (message) => sr25519Sign(message, pair),
  };
}

export const testVerify: Verify = ({ address, message, signature }) => {
  try {
    return sr25519Verify(message, signature, decodeAddress(address));
  } catch {
    return false; // no such address
  }
};
