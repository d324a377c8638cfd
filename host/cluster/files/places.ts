/** Where the files of a definition are, below the data folder. */
import { kinds } from '../../meta/kinds.js';

/** Folder of all definitions of a kind. */
function rootOf(kind: string, key: string): string | undefined {
  if (kind === kinds.schema) return 'schemas';
  if (kind === kinds.service) return 'services';
  if (kind !== kinds.plugin) return undefined;
  const [part = ''] = key.split('/', 1);
  // It comes from outside as well.
  if (!/^[a-z]+$/.test(part)) return undefined;
  return `plugins/${part === 'portables' ? 'portable' : part}`;
}

const folderName = /^[^/\\\0.][^/\\\0]*@[0-9a-f]{8}$/;

/** Whether it is the place of a folder of some definition. */
export function isPlace(place: string): boolean {
  const [, folder = ''] = /^(?:schemas|services|plugins\/[a-z]+)\/(.*)$/s.exec(place) ?? [];
  return folderName.test(folder);
}

/** The folder that a definition names; undefined when it has no files. */
export function placeOf(kind: string, key: string, text: string | null): string | undefined {
  const root = text === null ? undefined : rootOf(kind, key);
  if (root === undefined || text === null) return undefined;
  try {
    const { folder } = JSON.parse(text) as { folder?: unknown };
    // It comes from outside: it must not lead elsewhere.
    const isName = typeof folder === 'string' && folderName.test(folder);
    return isName ? `${root}/${folder}` : undefined;
  } catch {
    return undefined;
  }
}
