/** Invites: one canonical spelling, read strictly, whatever a stranger writes. */

import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import { isPublicHost } from "../../../cli/address/announcements.ts";
import { hostOfSocket, inviteText, quotedInvite, readInvite } from "../../../cli/address/invite.ts";
import { joinCommand } from "../../../cli/address/join_command.ts";
import { UsageError } from "../../../cli/program/errors.ts";
import { bareWord, hubAddress } from "../../../cli/roles/addresses.ts";
import { prngOf } from "../../support/small_prng.ts";
import { testSigner } from "../../support/net/test_keys.ts";
import { cases } from "../../support/whole.ts";

const hub = testSigner(1).address;
const of = (place: string, scheme = "iota") => `${scheme}://${place}/toy-1a2b3c4d#${hub}`;

Deno.test("Invite: a written invite parses to the same, for names, IPv4, IPv6, TLS and a proxy's path", () => {
  const sockets = [
    "ws://203.0.113.7:9009",
    "ws://[2001:db8::7]:9009",
    "wss://run.example",
    "wss://run.example:8443",
    "wss://run.example/iota/hub-1",
    "ws://hub:9009",
  ];
  for (const socket of sockets) {
    const invite = { socket, run: "toy-1a2b3c4d", hub };
    const text = inviteText(invite);
    assertEquals(readInvite(text!), invite, text!);
    assertEquals(hubAddress(text!).socket, socket);
  }
  assertEquals(
    inviteText({ socket: "ws://203.0.113.7:9009", run: "toy-1", hub }),
    `iota://203.0.113.7:9009/toy-1#${hub}`,
  );
});

Deno.test("Invite: other spellings of the same become the canonical one", () => {
  const check = (text: string, socket: string) => assertEquals(readInvite(text)?.socket, socket, text);
  check(of("Run.Example:443", "iotas"), "wss://run.example");
  check(of("run.example:80"), "ws://run.example");
  check(of("[2001:DB8:0:0:0:0:0:7]:9009"), "ws://[2001:db8::7]:9009");
  assertEquals(
    inviteText({ socket: "ws://[2001:db8:0::7]:9009", run: "a", hub }),
    `iota://[2001:db8::7]:9009/a#${hub}`,
  );
});

Deno.test("Invite: whatever is not exactly one is refused", () => {
  const wrongKey = `${hub.slice(0, -1)}${hub.endsWith("x") ? "y" : "x"}`;
  const refused = [
    "",
    "iota://",
    "ws://203.0.113.7:9009",
    `iota://203.0.113.7:9009#${hub}`, // no run
    "iota://203.0.113.7:9009/toy-1", // no key
    `iota://203.0.113.7:9009/toy-1#${wrongKey}`,
    `iota://user@203.0.113.7:9009/toy-1#${hub}`,
    `iota://203.0.113.7:9009/toy-1?x#${hub}`,
    `iota://203.0.113.7:9009/to y#${hub}`,
    `iota://203.0.113.7:9009/toy-1#${hub}\n`,
    `iota://203.0.113.7:9009/\u001b[2J#${hub}`,
    `iota://203.0.113.7:9009/${"a".repeat(101)}#${hub}`,
    ...["127.1:9", "0x7f000001:9", "1.2.3.4.5:9", "01.2.3.4:9", "[::1%eth0]:9", "[::1", "::1:9", "a..b:9", "-a:9"].map((
      place,
    ) => of(place)),
    ...["run.example:0", "run.example:65536", "run.example:", ":9009", "rün.example:9"].map((place) => of(place)),
    ...["run.example/../x", "run.example/./x", "run.example//x", "run.example/a%2fb"].map((place) => of(place)),
    of(`${"a".repeat(60)}.`.repeat(7)),
    of("run.example", "IOTA"),
  ];
  for (const text of refused) assertEquals(readInvite(text), null, text);
  const next = (text: string) =>
    assertThrows(() => hubAddress(text), Error, "an invite must be iota://HOST:PORT/RUN#KEY");
  next("iota://203.0.113.7:9009/toy-1");
});

Deno.test("Invite: random damage gives nothing, or an invite in its canonical spelling", () => {
  const below = prngOf(7);
  const alphabet = "iots:/#[].-_~%@?0123456789abcfxz5FH \u001bé";
  let read = 0;
  for (let i = 0; i < cases(20_000); i++) {
    const whole = of(
      ["203.0.113.7:9009", "[2001:db8::7]:9009", "run.example/a"][below(3)]!,
      ["iota", "iotas"][below(2)],
    );
    const at = below(whole.length);
    const letter = alphabet[below(alphabet.length)]!;
    const text = [
      whole.slice(0, at) + letter + whole.slice(at + below(2)),
      whole.slice(0, at) + whole.slice(at + 1),
    ][below(2)]!;
    const invite = readInvite(text);
    if (invite === null) continue;
    read += 1;
    assertEquals(readInvite(inviteText(invite)!), invite, text);
    const url = new URL(invite.socket); // an address as the WebSocket will see it
    assertEquals([url.hash, url.search, url.username], ["", "", ""], text);
    assertEquals(`${url.hostname}`.replace(/^\[|\]$/g, ""), hostOfSocket(invite.socket), text);
  }
  assert(read > cases(1_000), `${read} of them could be read`);
});

Deno.test("Invite: the join line is one word to a shell", async () => {
  const text = of("[2001:db8::7]:9009");
  const { stdout } = await new Deno.Command("sh", { args: ["-c", `printf '%s|' ${quotedInvite(text)} end`] }).output();
  assertEquals(new TextDecoder().decode(stdout), `${text}|end|`);
  const line = joinCommand({ socket: "ws://10.0.0.5:9009", run: "toy-1", hub });
  assertEquals(line, `iota miner --orchestrator 'iota://10.0.0.5:9009/toy-1#${hub}'`);
  const trusting = joinCommand({ socket: "wss://10.0.0.5:9009", run: "toy-1", hub }, { authorityFile: "my cert.pem" });
  assertEquals(trusting, `iota miner --orchestrator 'iotas://10.0.0.5:9009/toy-1#${hub}' --tls-ca 'my cert.pem'`);
});

Deno.test("Host scope: only what means the same to everybody is public", () => {
  const own = [
    "127.0.0.1",
    "10.1.2.3",
    "172.31.0.1",
    "192.168.1.1",
    "100.64.0.1",
    "169.254.1.1",
    "0.0.0.0",
    "224.0.0.1",
  ];
  const own6 = ["::1", "::", "fe80::1", "fd00::1", "ff02::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1"];
  const names = ["localhost", "hub", "hub.local", "a.localhost", "nas.lan"];
  for (const host of [...own, ...own6, ...names]) assertEquals(isPublicHost(host), false, host);
  for (const host of ["203.0.113.7", "172.32.0.1", "100.128.0.1", "2001:db8::7", "run.example", "::ffff:203.0.113.7"]) {
    assertEquals(isPublicHost(host), true, host);
  }
});

Deno.test("Invite: blanks, line ends and quotes that copying leaves around it do not count; what is wrong in it is named", () => {
  const text = inviteText({ socket: "ws://203.0.113.7:9009", run: "small-1", hub })!;
  for (const copied of [` ${text}`, `${text} \n`, `'${text}'`, ` "${text}" `]) {
    assertEquals([hubAddress(copied).socket, bareWord(copied)], ["ws://203.0.113.7:9009", text], copied);
  }
  assertEquals(hubAddress(" ws://h:1 ").socket, "ws://h:1");
  const says = (damaged: string, rule: RegExp) => {
    const { message } = assertThrows(() => hubAddress(damaged), UsageError);
    assertMatch(message, rule);
  };
  const wrongLetter = text.slice(0, -1) + (text.endsWith("1") ? "2" : "1");
  says(wrongLetter, /the key of an invite must be a whole address that matches its checksum/);
  says(text.slice(0, -1), /the key of an invite must be a whole address that matches its checksum/);
  says(text.replace("/small", " /small"), /must be one word, without blanks or line ends/);
  says(text.replace("iota://", "iota:/"), /an invite must be iota:..HOST:PORT.RUN#KEY/);
});
