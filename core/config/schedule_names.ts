/** The shapes of the learning rate after the warm-up (core/train/schedule.ts). */

export const scheduleNames = ["linear", "cosine"] as const;
export type ScheduleName = typeof scheduleNames[number];
export const defaultSchedule: ScheduleName = "linear";
