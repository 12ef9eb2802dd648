/**
 * The variables that name proxies, taken out of this process's environment at its start: Deno's `fetch` would obey them behind our
 * back, also for this machine's own addresses. What they mean: net/proxy/proxy_choice.ts; who uses them: outbound.ts.
 */

import { type GetVariable, proxyVariables } from "../../net/proxy/proxy_choice.ts";

export const proxyNames: readonly string[] = proxyVariables.flatMap((name) => [name, name.toLowerCase()]);

export const proxyValues = (get: GetVariable): Record<string, string> =>
  Object.fromEntries(proxyNames.flatMap((name) => {
    const value = get(name);
    return value === undefined ? [] : [[name, value]];
  }));

/** Returns what it takes. */
export function takeProxyVariables(): Readonly<Record<string, string>> {
  const taken = proxyValues((name) => Deno.env.get(name));
  for (const name of Object.keys(taken)) Deno.env.delete(name);
  return taken;
}
