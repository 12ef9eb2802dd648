/**
 * Which proxy a connection uses, by HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY.
 *
 * Spelled and ordered as in curl: lower case first; https and wss use HTTPS_PROXY, http and ws use HTTP_PROXY, and
 * ALL_PROXY serves the rest. An address of this machine never goes through a proxy.
 */

export const proxyVariables = ["HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY"] as const;

export type GetVariable = (name: string) => string | undefined;

export interface Proxy {
  readonly variable: string;
  readonly isTls: boolean;
  readonly host: string; // without brackets
  readonly port: number;
  readonly authorization: string | null;
  /** Without a password. */
  readonly shown: string;
}

export type ProxyChoice =
  | { readonly type: "direct" }
  | { readonly type: "proxy"; readonly proxy: Proxy }
  /** A proxy that this program cannot use: connecting without it would ignore the person's setting. */
  | { readonly type: "unusable"; readonly reason: string };

const direct: ProxyChoice = { type: "direct" };

export function chooseProxy(url: string, get: GetVariable): ProxyChoice {
  const target = URL.parse(url);
  if (target === null) return direct;
  const host = bareHost(target.hostname);
  const isTls = target.protocol === "https:" || target.protocol === "wss:";
  if (isOwnMachine(host)) return direct;
  const named = firstGiven(isTls ? ["HTTPS_PROXY", "ALL_PROXY"] : ["HTTP_PROXY", "ALL_PROXY"], get);
  if (named === null) return direct;
  const port = portOf(target);
  const exceptions = firstGiven(["NO_PROXY"], get)?.value ?? "";
  return exceptions.split(/[\s,]+/).some((rule) => exempts(rule, { host, port })) ? direct : readProxy(named);
}

/** As `NAME=value` without passwords. */
export function shownVariables(get: GetVariable): string[] {
  return proxyVariables.flatMap((name) => {
    const given = firstGiven([name], get);
    return given === null ? [] : [`${given.name}=${withoutUser(given.value)}`];
  });
}

/** User name and password end at the last `@`: people leave `@` and `/` unescaped, and omit the scheme. */
const withoutUser = (value: string): string => value.replace(/^([a-z][a-z0-9+.-]*:\/\/)?.*@/i, "$1");

export const portOf = ({ port, protocol }: URL): number =>
  port !== "" ? Number(port) : protocol === "https:" || protocol === "wss:" ? 443 : 80;

export const bareHost = (hostname: string): string => hostname.replace(/^\[(.*)\]$/, "$1");

function firstGiven(names: readonly string[], get: GetVariable): { name: string; value: string } | null {
  for (const name of names.flatMap((upper) => [upper.toLowerCase(), upper])) {
    const value = get(name)?.trim();
    if (value) return { name, value };
  }
  return null;
}

function readProxy({ name, value }: { name: string; value: string }): ProxyChoice {
  const url = URL.parse(/^[a-z][a-z0-9+.-]*:\/\//i.test(value) ? value : `http://${value}`);
  if (url === null || url.hostname === "") {
    return { type: "unusable", reason: `${name} must be a proxy's address such as http://proxy:3128` };
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    const shown = `${url.protocol}//${url.host}`;
    return { type: "unusable", reason: `${name} is ${shown}, and only http:// and https:// proxies can be used` };
  }
  const user = percentDecoded(`${url.username}:${url.password}`);
  if (user === null) {
    return { type: "unusable", reason: `${name} has a user name or password that cannot be decoded: write % as %25` };
  }
  const isTls = url.protocol === "https:";
  const proxy: Proxy = {
    variable: name,
    isTls,
    host: bareHost(url.hostname),
    port: portOf(url),
    authorization: user === ":" ? null : `Basic ${new TextEncoder().encode(user).toBase64()}`,
    shown: `${url.protocol}//${url.host}`,
  };
  return { type: "proxy", proxy };
}

/** Null: a `%` without a character code. */
function percentDecoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

export function isOwnMachine(host: string): boolean {
  if (host === "localhost" || host.endsWith(".localhost")) return true;
  if (/^127\.\d+\.\d+\.\d+$/.test(host) || host === "0.0.0.0") return true;
  return host === "::1" || host === "::" || /^::ffff:7f[0-9a-f]{2}:/i.test(host); // as URL writes ::ffff:127.0.0.1
}

/** `rule`: `*`, a name and all names below it, an address, or a range such as 10.0.0.0/8; each may end in a port. */
function exempts(rule: string, { host, port }: { host: string; port: number }): boolean {
  if (rule === "") return false;
  if (rule === "*") return true;
  const range = rangeOf(rule);
  if (range !== null) return contains(range, host);
  const [, bracketed, plain, rulePort] = /^(?:\[(.+)\]|([^:]+)|[^[]*)(?::(\d+))?$/.exec(rule) ?? [];
  if (rulePort !== undefined && Number(rulePort) !== port) return false;
  const name = (bracketed ?? plain ?? rule).toLowerCase().replace(/^\*?\./, "");
  return host === name || host.endsWith(`.${name}`) || sameAddress(host, name);
}

interface AddressRange {
  readonly bits: string;
  readonly length: number;
}

function rangeOf(rule: string): AddressRange | null {
  const [, address, length] = /^([^/]+)\/(\d{1,3})$/.exec(rule) ?? [];
  const bits = address === undefined ? null : bitsOf(address);
  return bits === null ? null : { bits, length: Number(length) };
}

function contains({ bits, length }: AddressRange, host: string): boolean {
  const own = bitsOf(host);
  return own !== null && own.length === bits.length && own.slice(0, length) === bits.slice(0, length);
}

function sameAddress(host: string, rule: string): boolean {
  const bits = bitsOf(rule);
  return bits !== null && bits === bitsOf(host);
}

/** 32 or 128 binary digits; null for a name. */
function bitsOf(address: string): string | null {
  const binary = (value: number, digits: number) => value.toString(2).padStart(digits, "0");
  if (/^\d+(\.\d+){3}$/.test(address)) return address.split(".").map((part) => binary(Number(part), 8)).join("");
  const written = address.includes(":") ? URL.parse(`http://[${address}]`) : null;
  if (written === null) return null;
  const [head = "", tail] = bareHost(written.hostname).split("::");
  const parts = (text: string) => text === "" ? [] : text.split(":");
  const rest = parts(tail ?? "");
  const zeros = new Array<string>(tail === undefined ? 0 : 8 - parts(head).length - rest.length).fill("0");
  return [...parts(head), ...zeros, ...rest].map((part) => binary(parseInt(part, 16), 16)).join("");
}
