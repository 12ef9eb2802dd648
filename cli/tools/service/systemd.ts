/**
 * systemd's user instance: a role's unit, and the commands that start, stop and show it.
 *
 * Its sandbox adds to the rights that the program gives up. Without user namespaces the unit leaves out the lines that
 * need them.
 */

import type { CommandLine, ServiceManager } from "./service_manager.ts";
import type { ServicePlan } from "./service_plan.ts";

/** `folder`: the user's settings. */
export function systemd(folder: string): ServiceManager {
  const control = (...words: string[]): CommandLine => ["systemctl", "--user", ...words];
  return {
    program: "systemctl",
    probe: control("show-environment"),
    fileOf: (name) => `${folder}/systemd/user/${name}.service`,
    textOf: unitText,
    install: (name) => [control("daemon-reload"), control("enable", name), control("restart", name)],
    remove: (name) => [control("disable", "--now", name)],
    status: (name) => control("status", "--no-pager", "--lines=5", name),
    logs: (name, { lines, follow }) => [
      ...["journalctl", "--user", "--no-pager", `--unit=${name}`, `--lines=${lines}`],
      ...(follow ? ["--follow"] : []),
    ],
    hint: "To let it run while you are signed out, type once: loginctl enable-linger",
  };
}

/** The graphics driver generates code and opens devices, so neither memory nor devices are restricted. */
const hardening = [
  "NoNewPrivileges=yes",
  "RestrictSUIDSGID=yes",
  "RestrictRealtime=yes",
  "LockPersonality=yes",
  "SystemCallArchitectures=native",
  "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK",
  "UMask=0077",
];

function unitText(plan: ServicePlan, { hasNamespaces }: { hasNamespaces: boolean }): string {
  const { role, isNode, program, workingFolder, writes, variables } = plan;
  const longestWaitSeconds = isNode ? 300 : 30; // all nodes wait for an orchestrator
  const hidesOwn = [...program, workingFolder, ...writes].some((path) => /^\/(var\/)?tmp(\/|$)/.test(path));
  const namespaces = [
    ...(hidesOwn ? [] : ["PrivateTmp=yes"]),
    "ProtectSystem=strict",
    `ReadWritePaths=${writes.map(mayBeMissing).join(" ")}`,
  ];
  const lines = [
    "# Written by `iota service install`; `iota service remove` deletes it.",
    "[Unit]",
    `Description=iota ${role}`,
    "StartLimitIntervalSec=0",
    "",
    "[Service]",
    "Type=exec",
    `ExecStart=${program.map(quoted).join(" ")}`,
    `WorkingDirectory=${workingFolder.replaceAll("%", "%%")}`,
    ...Object.entries(variables).map(([name, value]) => `Environment=${quoted(`${name}=${value}`)}`),
    ...(isNode
      ? ["Restart=always"]
      : ["# It ends by itself when its run is over, and is then not restarted.", "Restart=on-failure"]),
    `# The waits grow from 5 s to ${longestWaitSeconds} s; before systemd 254 each is 5 s.`,
    "RestartSec=5",
    "RestartSteps=8",
    `RestartMaxDelaySec=${longestWaitSeconds}`,
    "# On SIGTERM the role hands its work in, which takes a miner 45 s at most.",
    "KillSignal=SIGTERM",
    "TimeoutStopSec=60",
    "Nice=5",
    ...hardening,
    ...(hasNamespaces
      ? namespaces
      : ["# No user namespaces here, so ProtectSystem=strict would keep it from starting."]),
    "",
    "[Install]",
    "WantedBy=default.target",
  ];
  return `${lines.join("\n")}\n`;
}

/** systemd expands % and $, and ends words at spaces. */
function quoted(word: string): string {
  const escaped = word.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("%", "%%").replaceAll("$", "$$$$");
  return /^[\w@.,:/+=%-]+$/.test(escaped) ? escaped : `"${escaped}"`;
}

const mayBeMissing = (path: string): string => quoted(`-${path}`);
