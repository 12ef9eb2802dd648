/**
 * launchd: a role's agent, and the commands that start, stop and show it. launchd neither keeps nor rotates logs, so
 * the role writes its own.
 */

import { resolve } from "node:path";
import type { ServiceManager } from "./service_manager.ts";
import type { ServicePlan } from "./service_plan.ts";

export function launchd(home: string): ServiceManager {
  const fileOf = (name: string) => `${home}/Library/LaunchAgents/${labelOf(name)}.plist`;
  return {
    program: "launchctl",
    probe: ["launchctl", "list"],
    fileOf,
    textOf: plistText,
    install: (name) => [["launchctl", "unload", fileOf(name)], ["launchctl", "load", "-w", fileOf(name)]],
    remove: (name) => [["launchctl", "unload", "-w", fileOf(name)]],
    status: (name) => ["launchctl", "list", labelOf(name)],
    logs: (_, { lines, follow, text }) => {
      const log = /<string>--log-file(?:=|<\/string>\s*<string>)([^<]*)</.exec(text)?.[1] ?? "";
      const folder = /<key>WorkingDirectory<\/key>\s*<string>([^<]*)</.exec(text)?.[1] ?? "";
      return ["tail", "-n", String(lines), ...(follow ? ["-F"] : []), resolve(plain(folder), plain(log))];
    },
    hint: null,
  };
}

const labelOf = (name: string) => name.replace("-", ".");

const restartSeconds = 10; // launchd's minimum
const whileItFails = `  <dict>
    <key>SuccessfulExit</key>
    <false/>
  </dict>`;

function plistText({ name, isNode, program, workingFolder }: ServicePlan): string {
  const words = program.map((word) => `    <string>${escaped(word)}</string>`).join("\n");
  return `<?xml version="1.0" encoding="UTF-8"?>
<!-- Written by "iota service install"; "iota service remove" deletes it. -->
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>${labelOf(name)}</string>
  <key>ProgramArguments</key>
  <array>
${words}
  </array>
  <key>WorkingDirectory</key>
  <string>${escaped(workingFolder)}</string>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
${isNode ? "  <true/>" : whileItFails}
  <key>ThrottleInterval</key>
  <integer>${restartSeconds}</integer>
  <key>ExitTimeOut</key>
  <integer>60</integer>
  <key>ProcessType</key>
  <string>Background</string>
  <key>Umask</key>
  <integer>63</integer>
  <key>StandardOutPath</key>
  <string>/dev/null</string>
  <key>StandardErrorPath</key>
  <string>/dev/null</string>
</dict>
</plist>
`;
}

const entities: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

const escaped = (text: string): string => text.replaceAll(/[&<>"]/g, (character) => entities[character]!);

const plain = (text: string): string =>
  Object.entries(entities).reduceRight((left, [character, entity]) => left.replaceAll(entity, character), text);
