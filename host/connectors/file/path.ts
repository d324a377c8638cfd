/** Where the files of a stream are. */
import { isAbsolute, join } from 'node:path';

/** What a stream reads: the file or folder that its DATASOURCE names below the path. */
export function pathOf(path: string, dataSource: string): string {
  return isAbsolute(dataSource) ? dataSource : join(path, dataSource);
}
