/** Signatures in simulated swarms: digests of who signs what, so a check costs next to nothing and a wrong one still fails. */

import type { BlobRef, NodeId } from "../../../../core/ids.ts";
import { type SignedStatement, type Statement, statementText } from "../../../../core/statements/statement.ts";
import { digest } from "../digest.ts";

export const simulatedRun = "simulated";

export const symbolicSignature = (signer: NodeId, statement: Statement): string =>
  digest("signature", signer, statementText(simulatedRun, statement));

export const isSymbolic = ({ signer, statement, signature }: SignedStatement): boolean =>
  signature === symbolicSignature(signer, statement);

/** In place of cli/roles/payload_hash.ts. */
export const symbolicPayloadHash = (slices: readonly BlobRef[]): string =>
  digest("payload", ...slices.map(({ hash }) => hash));
