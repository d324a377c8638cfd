/** A disk that has no more room for a queue whose oldest messages may go. */
import type { Store } from './store.js';

/** Whether an error says that the disk has no room, or none for this user. */
export function isFullDisk(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ENOSPC' || code === 'EDQUOT';
}

/**
 * Drops pages until the disk has a file back; false when they were not enough. `dropNext` says whether there was one.
 */
export async function freeFile(store: Store, dropNext: () => Promise<boolean>): Promise<boolean> {
  const before = store.diskBytes;
  while (store.diskBytes >= before) if (!(await dropNext())) return store.diskBytes < before;
  await store.removed?.();
  return true;
}
