/** Where things lie, per system. */

import { assertEquals, assertThrows } from "@std/assert";
import { UserError } from "../../../cli/program/errors.ts";
import { dataFolder, type Environment, type System, walletFolders } from "../../../cli/program/paths.ts";

const on = (system: System, variables: Record<string, string>): Environment => ({
  system,
  get: (name) => variables[name],
});

Deno.test("Paths: the data folder follows each system's custom", () => {
  assertEquals(dataFolder(on("linux", { HOME: "/ada" })), "/ada/.local/share/iota");
  assertEquals(dataFolder(on("linux", { HOME: "/ada", XDG_DATA_HOME: "/data" })), "/data/iota");
  assertEquals(dataFolder(on("linux", { HOME: "/ada", XDG_DATA_HOME: "data" })), "/ada/.local/share/iota");
  assertEquals(dataFolder(on("darwin", { HOME: "/ada" })), "/ada/Library/Application Support/iota");
  assertEquals(dataFolder(on("windows", { LOCALAPPDATA: "C:\\Local" })), "C:\\Local/iota");
  assertEquals(dataFolder(on("linux", {}), "x"), "x");
});

Deno.test("Paths: without a home folder the error says which options to pass", () => {
  const error = assertThrows(() => dataFolder(on("linux", {})), UserError, "HOME is not set");
  assertEquals(error.next, "Pass the folders: --data DIR, and --wallet-path DIR if a wallet is used");
});

Deno.test("Paths: wallets lie where Bittensor keeps them, a given data folder comes first, a given path alone", () => {
  const environment = on("linux", { HOME: "/ada" });
  assertEquals(walletFolders(environment), ["/ada/.bittensor/wallets"]);
  assertEquals(walletFolders(environment, { data: "d" }), ["d/wallets", "/ada/.bittensor/wallets"]);
  assertEquals(walletFolders(environment, { data: "d", explicit: "w" }), ["w"]);
  assertEquals(walletFolders(on("linux", {}), { data: "d" }), ["d/wallets"]);
});
