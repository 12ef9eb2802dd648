/** The thread that checks members' signatures: see signature_thread.ts. */

import { verifySignature } from "../../../chain/wallet/hotkey.ts";
import type { SignedStatement } from "../../../core/statements/statement.ts";
import { isGenuine } from "./signature_check.ts";

export interface CheckRequest {
  readonly id: number;
  readonly run: string;
  readonly signed: readonly SignedStatement[];
}

export interface CheckAnswer {
  readonly id: number;
  readonly areGenuine: readonly boolean[];
}

const scope = self as unknown as {
  onmessage: (event: MessageEvent<CheckRequest>) => void;
  postMessage(message: CheckAnswer): void;
};

scope.onmessage = ({ data: { id, run, signed } }) => {
  scope.postMessage({ id, areGenuine: signed.map((each) => isGenuine(each, { run, verify: verifySignature })) });
};
