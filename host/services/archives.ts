/** Opens archives; what reads them is loaded when the first one comes. */
import type { Archive, ArchiveLimits } from '../base/archive.js';

/** As `withArchive` of base/archive.ts. */
export async function withArchive<T>(
  source: string | Buffer,
  use: (archive: Archive) => Promise<T>,
  limits?: Partial<ArchiveLimits>,
): Promise<T> {
  const archives = await import('../base/archive.js');
  return archives.withArchive(source, use, limits);
}
