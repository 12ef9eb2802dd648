/**
 * Checks members' signatures. A check takes about a millisecond, so a real run has a thread for them
 * (signature_thread.ts).
 */

import { type SignedStatement, statementText } from "../../../core/statements/statement.ts";
import type { Verify } from "../../../net/auth/hello.ts";

export interface SignatureChecker {
  check(signed: readonly SignedStatement[]): Promise<readonly boolean[]>;
  close(): void;
}

export function plainChecker(run: string, verify: Verify): SignatureChecker {
  return {
    check: (signed) => Promise.resolve(signed.map((each) => isGenuine(each, { run, verify }))),
    close: () => {},
  };
}

export function isGenuine(
  { signer, statement, signature }: SignedStatement,
  { run, verify }: { run: string; verify: Verify },
): boolean {
  if (!/^[0-9a-f]{128}$/.test(signature)) return false;
  const message = new TextEncoder().encode(statementText(run, statement));
  return verify({ address: signer, message, signature: Uint8Array.fromHex(signature) });
}
