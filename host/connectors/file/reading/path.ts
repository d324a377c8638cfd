/** Where the files of a stream are. */
import { isAbsolute, join } from 'node:path';

/** Path of the file or folder that a stream reads: its DATASOURCE, below `path` unless it is absolute. */
export function pathOf(path: string, dataSource: string): string {
  return isAbsolute(dataSource) ? dataSource : join(path, dataSource);
}
