/** Programs run as a user who owns nothing here, as installed ones are. */

import type { SpawnOptions } from 'node:child_process';
import { chmodSync } from 'node:fs';

/** No user of a machine has this id; it is the one that the image names. */
export const otherUser = 65_532;

/** Only root may become somebody else; for others, files that they may not write are nobody's test. */
export const mayChangeUser = process.getuid?.() === 0;

/** Options of a process that runs as the other user where that is possible. */
export function asOther(options: SpawnOptions = {}): SpawnOptions {
  return mayChangeUser ? { ...options, uid: otherUser, gid: otherUser } : options;
}

/** Lets others read what is in a temporary folder, which only its maker may otherwise. */
export function readableByAll(folder: string): string {
  chmodSync(folder, 0o755);
  return folder;
}
