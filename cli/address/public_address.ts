/** The address at which other machines reach this orchestrator, if at all. IPv6 is in brackets. */

import { UsageError } from "../program/errors.ts";

export interface ServedAt {
  readonly host: string;
  readonly port: number;
}

export interface NetworkAddress {
  readonly name: string;
  readonly family: "IPv4" | "IPv6";
  readonly address: string;
}

export interface BoundPort {
  readonly host: string; // as given: 127.0.0.1, 0.0.0.0, ::, a name
  readonly port: number;
  readonly isTls: boolean;
  /** `host`, `host:port`, or a whole URL; null: not given. */
  readonly publicAddress: string | null;
  readonly interfaces: readonly NetworkAddress[];
}

/** `name`: the option or setting that gave the address. */
export function publicUrl(bound: BoundPort, name = "--public-address"): string {
  const { host, port, isTls, publicAddress, interfaces } = bound;
  if (publicAddress !== null) return givenUrl(publicAddress, { port, isTls, name });
  const reached = isAnyAddress(host) ? bestAddress(host, interfaces) : host;
  return `${schemeOf(isTls)}//${bracketed(reached)}:${port}`;
}

const mostOthers = 8; // per machine; more would bury the join line

/** Of a port that listens on all addresses: another interface, or the other IP family. */
export function otherUrls(bound: BoundPort): string[] {
  const { host, port, isTls, publicAddress, interfaces } = bound;
  if (publicAddress !== null || !isAnyAddress(host)) return [];
  return ranked(host, interfaces)
    .filter(({ name }) => !virtualName.test(name))
    .map(({ address }) => `${schemeOf(isTls)}//${bracketed(address)}:${port}`)
    .filter((url, index, all) => url !== publicUrl(bound) && all.indexOf(url) === index)
    .slice(0, mostOthers);
}

export function mustBeHost(host: string, name = "--host"): void {
  const bare = host.replace(/^\[(.*)\]$/, "$1").replace(/%.*$/, "");
  if (bare.includes(":") ? URL.canParse(`ws://[${bare}]`) : /^(?!\d+$)[\w.-]+$/.test(bare)) return;
  throw new UsageError(
    `Cannot use ${name} '${host}': it is not an address or name of this machine`,
    {
      next: "For example: --host 127.0.0.1, or --host 0.0.0.0 for the whole network",
    },
  );
}

export function isLoopbackHost(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(\.\d{1,3}){3}$/.test(host);
}

export function isAnyAddress(host: string): boolean {
  return host === "0.0.0.0" || host === "::" || host === "";
}

const schemeOf = (isTls: boolean) => isTls ? "wss:" : "ws:";
const bracketed = (host: string) => host.includes(":") && !host.startsWith("[") ? `[${host}]` : host;

function givenUrl(
  text: string,
  { port, isTls, name }: { port: number; isTls: boolean; name: string },
): string {
  const isWhole = text.includes("://");
  const isBareIpv6 = !isWhole && !text.startsWith("[") && text.split(":").length > 2;
  const url = URL.parse(isWhole ? text : `${schemeOf(isTls)}//${isBareIpv6 ? `[${text}]` : text}`);
  if (url === null || !/^wss?:$/.test(url.protocol) || url.hostname === "") {
    throw new UsageError(
      `Cannot use ${name} '${text}': other machines cannot dial this address`,
      { next: "For example: --public-address 203.0.113.7, or --public-address wss://run.example behind a proxy" },
    );
  }
  const hasPort = isWhole || /:\d+$/.test(isBareIpv6 ? "" : text);
  return `${url.protocol}//${url.hostname}${hasPort ? portOf(text, url) : `:${port}`}${
    url.pathname.replace(/\/+$/, "")
  }`;
}

/** `URL` drops a scheme's default port; without a scheme it was typed on purpose. */
function portOf(text: string, url: URL): string {
  if (url.port !== "") return `:${url.port}`;
  return text.includes("://") ? "" : `:${/:(\d+)$/.exec(text)![1]}`;
}

/** Interfaces that programs create for their own guests; other machines cannot reach them. */
const virtualName = /^(docker|br-|veth|virbr|cni|flannel|lxc|podman|vmnet|vboxnet|lo)/;

/** A port at `::` accepts IPv4 as well. With the fallback, only this machine can join. */
function bestAddress(host: string, interfaces: readonly NetworkAddress[]): string {
  return ranked(host, interfaces)[0]?.address ?? (host === "::" ? "::1" : "127.0.0.1");
}

function ranked(host: string, interfaces: readonly NetworkAddress[]): NetworkAddress[] {
  const wanted = host === "::" ? ["IPv6", "IPv4"] : ["IPv4"];
  return interfaces
    .filter(({ family, address }) => wanted.includes(family) && !isLocal(address))
    .map((each) => ({ ...each, rank: (virtualName.test(each.name) ? 10 : 0) + wanted.indexOf(each.family) }))
    .toSorted((a, b) => a.rank - b.rank);
}

/** Loopback, or a link-local address, which would need its interface named. */
function isLocal(address: string): boolean {
  return isLoopbackHost(address) || /^169\.254\./.test(address) || /^fe[89ab]/i.test(address);
}
