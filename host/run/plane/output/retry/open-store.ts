/** The store of a spill queue: pages on disk, or memory. */

import { MemoryStore } from '../../queue/memory-store.js';
import { defaultFileBytes, PageStore } from '../../queue/page-store.js';
import type { Store } from '../../queue/store.js';
import type { SpillOptions } from './spill-options.js';

/** Files that fill a bounded queue, so that dropping one frees only a part. */
const filesInBound = 16;
const minFileBytes = 64 * 1024;

/** Opens the store with the messages that an earlier run left. Rejects when the disk can't be read. */
export async function openStore({ folder, isSynced, maxDiskBytes, fileBytes }: SpillOptions): Promise<Store> {
  if (folder === undefined) return new MemoryStore();
  const bounded = Number.isFinite(maxDiskBytes)
    ? Math.max(minFileBytes, Math.ceil(maxDiskBytes / filesInBound))
    : Number.POSITIVE_INFINITY;
  return PageStore.open(folder, { isSynced, fileBytes: Math.min(fileBytes ?? defaultFileBytes, bounded) });
}
