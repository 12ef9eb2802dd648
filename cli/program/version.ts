/** The protocol has its own version (core/protocol/message.ts). */
export const version = "0.1.0";
