/** Which proxy a connection goes through, by the variables of the environment. */

import { assertEquals, assertStringIncludes } from "@std/assert";
import { chooseProxy, shownVariables } from "../../../net/proxy/proxy_choice.ts";

type Variables = Readonly<Record<string, string>>;

/** The proxy's address, "direct", or why there is none. */
function way(url: string, variables: Variables): string {
  const choice = chooseProxy(url, (name) => variables[name]);
  if (choice.type === "proxy") return choice.proxy.shown;
  return choice.type === "direct" ? "direct" : choice.reason;
}

const all: Variables = { ALL_PROXY: "http://proxy:3128" };

Deno.test("Proxy: this machine's own addresses never go by one", () => {
  const every = { ...all, HTTP_PROXY: "http://proxy:1", HTTPS_PROXY: "http://proxy:2" };
  const own = ["127.0.0.1", "127.9.9.9", "localhost", "a.localhost", "[::1]", "0.0.0.0", "[::]", "[::ffff:127.0.0.1]"];
  for (const host of own) {
    for (const scheme of ["ws", "wss", "http", "https"]) {
      assertEquals(way(`${scheme}://${host}:9009/x`, every), "direct");
    }
  }
});

Deno.test("Proxy: links and requests of one scheme take the same one, in lower case before upper case", () => {
  const each = { HTTP_PROXY: "http://plain:1", HTTPS_PROXY: "http://secure:2", ALL_PROXY: "http://rest:3" };
  for (const scheme of ["ws", "http"]) assertEquals(way(`${scheme}://hub.example`, each), "http://plain:1");
  for (const scheme of ["wss", "https"]) assertEquals(way(`${scheme}://hub.example`, each), "http://secure:2");
  assertEquals(way("ws://hub.example", { HTTPS_PROXY: "http://secure:2" }), "direct");
  assertEquals(way("ws://hub.example", { HTTPS_PROXY: "http://secure:2", ...all }), "http://proxy:3128");
  assertEquals(way("wss://hub.example", { ...each, https_proxy: "http://lower:4" }), "http://lower:4");
  assertEquals(way("wss://hub.example", {}), "direct");
});

Deno.test("Proxy: NO_PROXY names hosts, domains, ports and ranges of addresses", () => {
  const cases: [rules: string, url: string, isDirect: boolean][] = [
    ["*", "ws://hub.example", true],
    ["example", "ws://hub.example", true],
    [".example", "ws://hub.example", true],
    ["*.example", "ws://hub.example", true],
    ["other, hub.example", "wss://hub.example", true],
    ["ub.example", "ws://hub.example", false],
    ["hub.example:9009", "ws://hub.example:9009", true],
    ["hub.example:9009", "ws://hub.example:9010", false],
    ["10.0.0.0/8", "ws://10.200.3.4:9009", true],
    ["10.0.0.0/8", "ws://11.0.0.1:9009", false],
    ["192.168.1.5", "ws://192.168.1.5:9009", true],
    ["fd00::/8", "ws://[fd12::5]:9009", true],
    ["2001:db8::5", "ws://[2001:db8:0::5]:9009", true],
    ["2001:db8::5", "ws://[2001:db8::6]:9009", false],
    ["", "ws://hub.example", false],
  ];
  for (const [rules, url, isDirect] of cases) {
    assertEquals(way(url, { ...all, no_proxy: rules }), isDirect ? "direct" : "http://proxy:3128", `${rules} ${url}`);
  }
});

Deno.test("Proxy: one that cannot be used is named, and not left out", () => {
  assertStringIncludes(way("ws://hub.example", { ALL_PROXY: "socks5://proxy:1080" }), "only http:// and https://");
  assertStringIncludes(way("ws://hub.example", { ALL_PROXY: "http://" }), "must be a proxy's address");
  assertEquals(way("ws://hub.example", { ALL_PROXY: "proxy:3128" }), "http://proxy:3128");
});

Deno.test("Proxy: a password is sent and never shown", () => {
  const variables: Variables = { HTTPS_PROXY: "http://me:p%40ss@proxy:3128" };
  const choice = chooseProxy("wss://hub.example", (name) => variables[name]);
  if (choice.type !== "proxy") throw new Error(choice.type);
  assertEquals(choice.proxy.authorization, `Basic ${btoa("me:p@ss")}`);
  assertEquals(choice.proxy.shown, "http://proxy:3128");
  assertEquals(shownVariables((name) => variables[name]), ["HTTPS_PROXY=http://proxy:3128"]);
});

Deno.test("Proxy: a % that is not the code of a character makes a variable unusable, by name and without the password", () => {
  for (const password of ["50%off", "p%zz", "%", "%ff"]) {
    const said = way("wss://hub.example", { HTTPS_PROXY: `http://me:${password}@proxy:3128` });
    assertStringIncludes(said, "HTTPS_PROXY has a user name or password that cannot be decoded");
    assertStringIncludes(said, "write % as %25");
    assertEquals(said.replace("write % as %25", "").includes(password), false, said);
  }
});

Deno.test("Proxy: what is shown of a variable has no user name and no password, however they are written", () => {
  for (const user of ["me:secret", "me:se/cret", "me:se@cret", "secret"]) {
    for (const scheme of ["http://", ""]) {
      assertEquals(shownVariables((name) => name === "ALL_PROXY" ? `${scheme}${user}@proxy:3128` : undefined), [
        `ALL_PROXY=${scheme}proxy:3128`,
      ]);
    }
  }
  assertEquals(shownVariables((name) => name === "NO_PROXY" ? "hub.example,10.0.0.0/8" : undefined), [
    "NO_PROXY=hub.example,10.0.0.0/8",
  ]);
});
