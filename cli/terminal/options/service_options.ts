/** The options of a long-running role. */

import type { OptionSpec, OptionValues } from "../command.ts";

export const defaultLogBytes = 8 * 1024 * 1024;

export const logOptions: readonly OptionSpec[] = [
  {
    name: "log-file",
    kind: "string",
    placeholder: "PATH",
    doc: "also write the whole log to this file, including what a screen or --quiet hides",
  },
  {
    name: "log-bytes",
    kind: "int",
    placeholder: "N",
    min: 4096,
    default: defaultLogBytes,
    doc: "start a new log file at this size",
  },
  {
    name: "log-keep",
    kind: "int",
    placeholder: "N",
    min: 0,
    max: 1000,
    default: 4,
    doc: "full log files to keep besides the open one: PATH.1 is the newest",
  },
];

const passedOn = ["log-level", "log-format"] as const;

/** For a process that a command starts. */
export const logWords = (options: OptionValues): string[] =>
  passedOn.flatMap((name) => options.given(name) ? [`--${name}`, options.text(name)!] : []);

export const autoRestartOption: OptionSpec = {
  name: "auto-restart",
  kind: "boolean",
  doc: "stop between two rounds when the program's file is replaced, so that the service starts the new version",
};

export const serviceNameOption: OptionSpec = {
  name: "name",
  kind: "string",
  placeholder: "NAME",
  defaultText: "the role, or the only one installed",
  doc: "the service's name, for a second service of the same role",
};

export const servicePrograms: readonly string[] = ["systemctl", "journalctl", "launchctl", "tail", "unshare"];
