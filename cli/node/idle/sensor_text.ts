/**
 * Parses the output of the sensor process (cli/rights/sensor_process.ts) into readings. Pure. Unknown lines are ignored.
 */

export interface SensorReadings {
  readonly userIdleMs: number | null;
  readonly onMains: boolean;
  readonly celsius: number | null; // the hottest sensor's
}

const plausibleCelsius = { least: -40, most: 150 }; // a broken sensor reads far outside this range

export function readSensorText(text: string): SensorReadings {
  let userIdleMs: number | null = null;
  let isFed = false; // a supply other than the battery is on
  let hasBattery = false;
  let isDraining = false;
  let celsius: number | null = null;
  for (const line of text.split("\n")) {
    const [name, ...values] = line.trim().split(/\s+/);
    const value = values.at(-1) ?? "";
    if (name === "online" && value === "1") isFed = true;
    if (name === "battery") {
      hasBattery = true;
      if (value === "Discharging") isDraining = true;
    }
    if (name === "source") {
      hasBattery = true;
      isDraining = value !== "Power" || values[0] !== "AC"; // "AC Power" or "Battery Power"
    }
    if (name === "idleNanoseconds" && /^\d+$/.test(value)) userIdleMs = Number(value) / 1e6;
    if (name === "millidegrees" && /^-?\d+$/.test(value)) celsius = hotter(celsius, Number(value) / 1000);
  }
  return { userIdleMs, onMains: isFed || !hasBattery || !isDraining, celsius };
}

function hotter(so: number | null, celsius: number): number | null {
  if (celsius < plausibleCelsius.least || celsius > plausibleCelsius.most) return so;
  return so === null ? celsius : Math.max(so, celsius);
}
