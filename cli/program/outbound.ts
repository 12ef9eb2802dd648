/**
 * The one `Outbound` of all connections to other machines, set once by main.ts in each thread that runs a command. No
 * other file of cli calls the runtime's `fetch` (tests/tidy).
 */

import { type Fetch, Outbound } from "../../net/proxy/outbound.ts";
import type { Environment } from "./paths.ts";
import { proxyValues } from "./proxy_variables.ts";

let current = new Outbound({ get: () => undefined });
let inherited: Readonly<Record<string, string>> = {};

export function openOutbound({ get }: Environment): void {
  inherited = proxyValues(get);
  current = new Outbound({ get });
}

export const outbound = (): Outbound => current;

export const outboundFetch: Fetch = (url, init) => current.fetch(url, init);

/** For the chain's client, which knows no other package of ours. */
export const chainSocketOptions = (url: string): Readonly<Record<string, unknown>> => current.socketOptions(url);

export const proxiesOfChildren = (): Readonly<Record<string, string>> => inherited;
