/** The options that name a chain and a subnet. */

import type { OptionSpec } from "../command.ts";
import { coldkeyOptions, hotkeyOption, walletOptions, walletPathOption } from "./wallet_options.ts";

export const defaultNetuid = 9;

const endpointOption: OptionSpec = {
  name: "endpoint",
  kind: "string",
  placeholder: "CHAIN",
  default: "finney",
  suggestions: ["finney", "test", "local"],
  doc: "finney, test, local, or ws:// and wss:// addresses, separated by commas",
};

const netuidOption: OptionSpec = {
  name: "netuid",
  kind: "int",
  placeholder: "N",
  min: 1,
  max: 4095,
  default: defaultNetuid,
  doc: "the subnet",
};

const timeoutOption: OptionSpec = {
  name: "timeout",
  kind: "float",
  placeholder: "SECONDS",
  min: 0.1,
  max: 600,
  default: 20,
  doc: "give up when the chain has not answered for this long",
};

export const waitFinalOption: OptionSpec = {
  name: "wait-final",
  kind: "boolean",
  doc: "wait until no fork of the chain can undo it, and check it there",
};

export const chainOptions: readonly OptionSpec[] = [endpointOption, netuidOption, timeoutOption];

export const mechanismOption: OptionSpec = {
  name: "mechanism",
  kind: "int",
  placeholder: "N",
  min: 0,
  max: 15,
  default: 0,
  doc: "the subnet's mechanism",
};

const anyHotkey: OptionSpec = { ...hotkeyOption, doc: "the wallet's hotkey, or the address of any hotkey" };

/** For actions that read a hotkey's state or sign with it. */
export const hotkeyOptions: readonly OptionSpec[] = [
  { ...walletOptions[0]!, doc: "the wallet of the hotkey" },
  anyHotkey,
  walletPathOption,
];

/** For actions that the coldkey signs for a hotkey. */
export const payingOptions: readonly OptionSpec[] = [coldkeyOptions[0]!, anyHotkey, ...coldkeyOptions.slice(1)];
