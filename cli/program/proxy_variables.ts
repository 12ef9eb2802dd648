/**
 * Takes the variables that name proxies out of this process's environment at its start: Deno's `fetch` would obey them
 * also for this machine's own addresses.
 */

import { type GetVariable, proxyVariables } from "../../net/proxy/proxy_choice.ts";

export const proxyNames: readonly string[] = proxyVariables.flatMap((name) => [name, name.toLowerCase()]);

export const proxyValues = (get: GetVariable): Record<string, string> =>
  Object.fromEntries(proxyNames.flatMap((name) => {
    const value = get(name);
    return value === undefined ? [] : [[name, value]];
  }));

export function takeProxyVariables(): Readonly<Record<string, string>> {
  const taken = proxyValues((name) => Deno.env.get(name));
  for (const name of Object.keys(taken)) Deno.env.delete(name);
  return taken;
}
