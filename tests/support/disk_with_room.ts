/** A log's disk that becomes full. */

import { type LogDisk, realLogDisk } from "../../cli/files/rotating_log.ts";

const diskFull = () => Object.assign(new Error("No space left on device"), { code: "ENOSPC" });

/** The real disk with room for so many more bytes. */
export function diskWithRoom(room: { bytes: number }): LogDisk {
  return {
    ...realLogDisk,
    append(path) {
      const file = realLogDisk.append(path);
      return {
        size: file.size,
        identity: file.identity,
        close: () => file.close(),
        write(bytes) {
          const fits = Math.min(bytes.length, room.bytes);
          if (fits === 0) throw diskFull();
          room.bytes -= fits;
          return file.write(bytes.subarray(0, fits));
        },
      };
    },
  };
}
