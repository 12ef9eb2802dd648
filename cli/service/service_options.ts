/**
 * The options of a role that runs for months.
 */

import type { OptionSpec } from "../command.ts";

export const defaultLogBytes = 8 * 1024 * 1024;

export const logOptions: readonly OptionSpec[] = [
  {
    name: "log-file",
    kind: "string",
    placeholder: "PATH",
    doc: "keep the whole log in this file as well, also what a screen or --quiet does not show",
  },
  {
    name: "log-bytes",
    kind: "int",
    placeholder: "N",
    min: 4096,
    default: defaultLogBytes,
    doc: "begin a new log file at this size",
  },
  {
    name: "log-keep",
    kind: "int",
    placeholder: "N",
    min: 0,
    max: 1000,
    default: 4,
    doc: "full log files to keep beside the open one: PATH.1 is the newest",
  },
];

export const autoRestartOption: OptionSpec = {
  name: "auto-restart",
  kind: "boolean",
  doc: "leave between two rounds when the program's file is replaced, so that the service starts the new version",
};

export const serviceNameOption: OptionSpec = {
  name: "name",
  kind: "string",
  placeholder: "NAME",
  defaultText: "the role, or miner",
  doc: "the service's name, for a second one of a role",
};

/** What `iota service` may run. */
export const servicePrograms: readonly string[] = ["systemctl", "journalctl", "launchctl", "unshare"];
