/**
 * Reads the machine's sensors for a program that has no right to.
 *
 * Deno opens nothing below /sys without all rights, and a miner may run no program. So a shell with one fixed script is
 * started before rights are given up, and only its pipes are kept. For each input line, whatever its content, it prints
 * its readings and an end mark; it ends when its input does.
 */

import { TextLineStream } from "../program/text_lines.ts";

export interface SensorProcess {
  /** Lines `name value`. Rejects when the process has ended. */
  read(): Promise<string>;
}

const endMark = ".";

/** Lines of cli/node/idle/pause_watch.ts. Unreadable files are left out. */
const linuxScript = `while read -r _; do
for f in /sys/class/power_supply/*/online; do [ -r "$f" ] && echo "online $(cat "\${f%/online}/type") $(cat "$f")"; done
for f in /sys/class/power_supply/*/status; do [ -r "$f" ] && echo "battery $(cat "$f")"; done
for f in /sys/class/thermal/thermal_zone*/temp /sys/class/hwmon/hwmon*/temp*_input; do
[ -r "$f" ] && echo "millidegrees $(cat "$f")"; done
echo ${endMark}; done 2>/dev/null`;

const darwinScript = `while read -r _; do
pmset -g batt | sed -n "s/^Now drawing from '\\(.*\\)'/source \\1/p"
ioreg -c IOHIDSystem | sed -n 's/.*"HIDIdleTime" = \\([0-9]*\\).*/idleNanoseconds \\1/p' | head -n 1
echo ${endMark}; done 2>/dev/null`;

export function startSensors(): SensorProcess | null {
  if (Deno.build.os === "windows") return null;
  const script = Deno.build.os === "darwin" ? darwinScript : linuxScript;
  const process = new Deno.Command("/bin/sh", {
    args: ["-c", script],
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
    clearEnv: true,
    env: { PATH: "/usr/bin:/bin:/usr/sbin:/sbin" },
  }).spawn();
  process.unref();
  const writer = process.stdin.getWriter();
  const lines = process.stdout.pipeThrough(new TextDecoderStream()).pipeThrough(new TextLineStream()).getReader();
  let last: Promise<unknown> = Promise.resolve();
  const readOne = async (): Promise<string> => {
    await writer.write(new Uint8Array([10]));
    const found: string[] = [];
    for (;;) {
      const { done, value } = await lines.read();
      if (done) throw new Error("the sensor process has ended");
      if (value === endMark) return found.join("\n");
      found.push(value);
    }
  };
  return {
    read() {
      const reading = last.then(readOne);
      last = reading.catch(() => {
        // the caller of this reading gets the error
      });
      return reading;
    },
  };
}
