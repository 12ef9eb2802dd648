/**
 * Whether a host is valid on the whole internet, or only on one machine or network.
 *
 * Owns: the non-public address ranges and the names that no public name server knows. It never queries a name server,
 * so a public name may still resolve to a private address.
 */

import { type IpAddress, ipOfText } from "../../chain/ip_address.ts";

/** IPv4: the prefix and its length in bits. */
const ownIpv4: readonly (readonly [first: string, bits: number])[] = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10], // carrier-grade NAT
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.168.0.0", 16],
  ["224.0.0.0", 3], // multicast, reserved, broadcast
];

const ownIpv6: readonly (readonly [first: string, bits: number])[] = [
  ["::", 127], // none, loopback
  ["fc00::", 7],
  ["fe80::", 10],
  ["ff00::", 8],
];

/** `host`: a name, an IPv4 address, or an IPv6 address without brackets. */
export function isPublicHost(host: string): boolean {
  const ip = ipOfText(host);
  if (ip !== null) return !isOwn(ip);
  return host.includes(".") && !/\.(localhost|local|internal|lan|home\.arpa)$/i.test(host);
}

function isOwn({ version, bits }: IpAddress): boolean {
  if (version === 6 && bits >> 32n === 0xffffn) return isOwn({ version: 4, bits: bits & 0xffff_ffffn }); // ::ffff:a.b.c.d
  const width = version === 4 ? 32 : 128;
  return (version === 4 ? ownIpv4 : ownIpv6).some(([first, count]) => {
    const shift = BigInt(width - count);
    return bits >> shift === ipOfText(first)!.bits >> shift;
  });
}
