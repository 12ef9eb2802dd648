/** The address in the join line. */

import { assertEquals, assertThrows } from "@std/assert";
import {
  type BoundPort,
  isLoopbackHost,
  type NetworkAddress,
  otherUrls,
  publicUrl,
} from "../../../cli/address/public_address.ts";
import { UsageError } from "../../../cli/program/errors.ts";

const loopback: NetworkAddress[] = [
  { name: "lo", family: "IPv4", address: "127.0.0.1" },
  { name: "lo", family: "IPv6", address: "::1" },
];
const lan: NetworkAddress[] = [
  ...loopback,
  { name: "docker0", family: "IPv4", address: "172.17.0.1" },
  { name: "eth0", family: "IPv6", address: "fe80::1" },
  { name: "eth0", family: "IPv4", address: "169.254.7.7" },
  { name: "eth0", family: "IPv4", address: "192.168.1.5" },
  { name: "eth0", family: "IPv6", address: "fd00::5" },
];

const urlOf = (given: Partial<BoundPort>) =>
  publicUrl({ host: "0.0.0.0", port: 9009, isTls: false, publicAddress: null, interfaces: lan, ...given });

Deno.test("Public address: a port at one address is reached there", () => {
  assertEquals(urlOf({ host: "10.0.0.7" }), "ws://10.0.0.7:9009");
  assertEquals(urlOf({ host: "127.0.0.1", isTls: true }), "wss://127.0.0.1:9009");
  assertEquals(urlOf({ host: "::1" }), "ws://[::1]:9009");
  assertEquals(urlOf({ host: "hub.lan" }), "ws://hub.lan:9009");
});

Deno.test("Public address: a port at all addresses is reached at one that other machines know", () => {
  assertEquals(urlOf({}), "ws://192.168.1.5:9009");
  assertEquals(urlOf({ host: "::" }), "ws://[fd00::5]:9009");
  assertEquals(
    urlOf({ host: "::", interfaces: lan.filter(({ address }) => address !== "fd00::5") }),
    "ws://192.168.1.5:9009",
  );
  assertEquals(urlOf({ interfaces: lan.filter(({ name }) => name !== "eth0") }), "ws://172.17.0.1:9009");
});

Deno.test("Public address: a machine with several interfaces is reached on the others, too", () => {
  const also = (given: Partial<BoundPort>) => {
    const second: NetworkAddress = { name: "eth1", family: "IPv4", address: "10.8.0.2" };
    const rest = { port: 9009, isTls: false, publicAddress: null, interfaces: [...lan, second] };
    return otherUrls({ host: "0.0.0.0", ...rest, ...given });
  };
  assertEquals(also({}), ["ws://10.8.0.2:9009"]);
  assertEquals(also({ host: "::", isTls: true }), ["wss://192.168.1.5:9009", "wss://10.8.0.2:9009"]);
  assertEquals(also({ interfaces: lan }), []);
  assertEquals(also({ interfaces: loopback }), []);
  assertEquals([...also({ host: "10.8.0.2" }), ...also({ publicAddress: "203.0.113.7" })], []);
  const many = Array.from({ length: 99 }, (_, i): NetworkAddress => ({ ...lan[4]!, address: `10.0.0.${i}` }));
  assertEquals(also({ interfaces: many }).length, 8);
});

Deno.test("Public address: a machine without a network is reached from itself", () => {
  assertEquals(urlOf({ interfaces: loopback }), "ws://127.0.0.1:9009");
  assertEquals(urlOf({ interfaces: loopback, host: "::" }), "ws://[::1]:9009");
});

Deno.test("Public address: the set one is used, with the port's own number and scheme if it has none", () => {
  assertEquals(urlOf({ publicAddress: "203.0.113.7" }), "ws://203.0.113.7:9009");
  assertEquals(urlOf({ publicAddress: "203.0.113.7:80" }), "ws://203.0.113.7:80");
  assertEquals(urlOf({ publicAddress: "run.example", isTls: true }), "wss://run.example:9009");
  assertEquals(urlOf({ publicAddress: "2001:db8::5" }), "ws://[2001:db8::5]:9009");
  assertEquals(urlOf({ publicAddress: "[2001:db8::5]:70" }), "ws://[2001:db8::5]:70");
  assertEquals(urlOf({ publicAddress: "wss://run.example" }), "wss://run.example");
  assertEquals(urlOf({ publicAddress: "wss://run.example:8443/iota/" }), "wss://run.example:8443/iota");
});

Deno.test("Public address: what cannot be dialled is refused", () => {
  for (const publicAddress of ["https://run.example", "ws://", "two words", "iota://x"]) {
    assertThrows(() => urlOf({ publicAddress }), UsageError, `'${publicAddress}': other machines cannot dial`);
  }
});

Deno.test("Public address: loopback is what only this machine reaches", () => {
  assertEquals(["127.0.0.1", "127.8.0.1", "::1", "localhost"].map(isLoopbackHost), [true, true, true, true]);
  assertEquals(["0.0.0.0", "::", "10.0.0.1"].map(isLoopbackHost), [false, false, false]);
});
