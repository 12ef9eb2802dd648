/**
 * Hours at which a miner may work, in local time. When the clock changes, the hours follow it.
 *
 *   22:00-07:00                    every day, over midnight
 *   mon-fri 22:00-07:00; sat,sun 0:00-24:00
 *                                  a range may pass midnight: friday's ends on saturday at 7
 *   mon 9:00-12:00,13:00-17:00
 */

export interface LocalMinute {
  readonly weekday: number; // 0 is sunday
  readonly minute: number; // of the day
}

interface Hours {
  readonly weekdays: ReadonlySet<number>; // on which it begins
  readonly from: number; // minute of the day
  readonly until: number; // exclusive; up to `from` means on the next day
}

export interface Schedule {
  readonly text: string;
  readonly hours: readonly Hours[];
}

type ParsedSchedule =
  | { readonly ok: true; readonly schedule: Schedule }
  | { readonly ok: false; readonly problem: string };

const weekdayNames = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const everyDay: ReadonlySet<number> = new Set(weekdayNames.keys());
const dayMinutes = 24 * 60;

export function parseSchedule(text: string): ParsedSchedule {
  const hours: Hours[] = [];
  for (const part of text.split(";")) {
    const words = part.trim().toLowerCase().split(/\s+/);
    const days = /^[a-z]/.test(words[0] ?? "") ? words.shift()! : null;
    const weekdays = days === null ? everyDay : weekdaysOf(days);
    if (weekdays === null) return wrong(`days must be like mon-fri or sat,sun, but are '${days}'`);
    const ranges = words.join("").split(",");
    for (const range of ranges) {
      const found = /^(\d{1,2}):(\d\d)-(\d{1,2}):(\d\d)$/.exec(range);
      const from = found === null ? null : minuteOf(found[1]!, found[2]!);
      const until = found === null ? null : minuteOf(found[3]!, found[4]!);
      if (from === null || until === null || from === dayMinutes || from === until) {
        return wrong(`hours must be like 22:00-07:00, but are '${range}'`);
      }
      hours.push({ weekdays, from, until });
    }
  }
  return { ok: true, schedule: { text: text.trim(), hours } };
}

export function isWithin({ hours }: Schedule, { weekday, minute }: LocalMinute): boolean {
  const yesterday = (weekday + 6) % 7;
  return hours.some(({ weekdays, from, until }) => {
    if (until > from) return weekdays.has(weekday) && minute >= from && minute < until;
    return (weekdays.has(weekday) && minute >= from) || (weekdays.has(yesterday) && minute < until);
  });
}

export function localMinute(date: Date): LocalMinute {
  return { weekday: date.getDay(), minute: 60 * date.getHours() + date.getMinutes() };
}

const wrong = (problem: string): ParsedSchedule => ({ ok: false, problem });

function minuteOf(hour: string, minute: string): number | null {
  const value = 60 * Number(hour) + Number(minute);
  return Number(minute) < 60 && value <= dayMinutes ? value : null;
}

/** `mon-fri`, `sat,sun`, `fri-mon`. */
function weekdaysOf(text: string): ReadonlySet<number> | null {
  const found = new Set<number>();
  for (const part of text.split(",")) {
    const ends = part.split("-").map((name) => weekdayNames.indexOf(name.slice(0, 3)));
    const [first, last = first] = ends;
    if (first === undefined || last === undefined || ends.length > 2 || ends.includes(-1)) return null;
    for (let day = first;; day = (day + 1) % 7) {
      found.add(day);
      if (day === last) break;
    }
  }
  return found;
}
