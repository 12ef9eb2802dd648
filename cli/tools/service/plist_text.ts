/**
 * The text of a launchd agent for one role.
 *
 * Owns: the property list's keys and XML's escapes. Pure. launchd neither keeps nor rotates logs, so the role gets its
 * own log and its output goes nowhere else.
 */

import type { ServicePlan } from "./service_plan.ts";

const restartSeconds = 10; // launchd's minimum
const whileItFails = `  <dict>
    <key>SuccessfulExit</key>
    <false/>
  </dict>`;

export function plistText({ label, program, workingFolder, restarts }: ServicePlan): string {
  const words = program.map((word) => `    <string>${escaped(word)}</string>`).join("\n");
  return `<?xml version="1.0" encoding="UTF-8"?>
<!-- Written by "iota service install"; "iota service remove" deletes it. -->
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>${escaped(label)}</string>
  <key>ProgramArguments</key>
  <array>
${words}
  </array>
  <key>WorkingDirectory</key>
  <string>${escaped(workingFolder)}</string>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
${restarts === "always" ? "  <true/>" : whileItFails}
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
