/** Opens archives; what reads them is loaded when the first one comes. */
import type { Archive, ArchiveLimits } from '../../base/files/archive.js';

/** As `withArchive` of base/files/archive.ts. */
export async function withArchive<T>(
  source: string | Buffer,
  use: (archive: Archive) => Promise<T>,
  limits?: Partial<ArchiveLimits>,
): Promise<T> {
  const archives = await import('../../base/files/archive.js');
  return archives.withArchive(source, use, limits);
}
