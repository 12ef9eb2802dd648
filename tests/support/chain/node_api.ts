/** An unmodified client, @polkadot/api, at a ledger served on a loopback port. */

import { ApiPromise, WsProvider } from "@polkadot/api";
import type { SubmittableExtrinsic } from "@polkadot/api/types";
import type { Ledger, LocalBlock } from "../../../chain/local/block/ledger.ts";
import { type alice, withServer } from "./node_world.ts";

/** Its own types do not allow for the compiler's exactOptionalPropertyTypes. */
type ApiOptions = NonNullable<Parameters<typeof ApiPromise.create>[0]>;

export interface ApiWorld<L extends Ledger> {
  readonly api: ApiPromise;
  readonly ledger: L;
}

export async function withApi<L extends Ledger>(ledger: L, use: (world: ApiWorld<L>) => Promise<void>): Promise<void> {
  await withServer(ledger, async ({ url }) => {
    const provider = new WsProvider(url, false);
    await provider.connect();
    const api = await ApiPromise.create({ provider, throwOnConnect: true, noInitWarn: true } as ApiOptions);
    try {
      await use({ api, ledger });
    } finally {
      await api.disconnect();
    }
  });
}

/** Sends, makes blocks as needed, and returns the client's final result. */
export async function sent(
  tx: SubmittableExtrinsic<"promise">,
  options: { readonly signer: typeof alice; readonly mine: () => LocalBlock },
): Promise<{ statuses: string[]; error: string | null; blockHash: string }> {
  const { signer, mine } = options;
  const statuses: string[] = [];
  const { promise, resolve, reject } = Promise.withResolvers<{ error: string | null; blockHash: string }>();
  await tx.signAndSend(signer, ({ status, dispatchError }) => {
    statuses.push(status.type);
    if (status.isReady || status.isInBlock) mine();
    if (!status.isFinalized) return;
    const error = dispatchError?.isModule ? dispatchError.registry.findMetaError(dispatchError.asModule).name : null;
    resolve({ error: error ?? dispatchError?.type ?? null, blockHash: status.asFinalized.toHex() });
  }).catch(reject);
  return { statuses, ...await promise };
}
