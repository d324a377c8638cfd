/** Lines of a file in, lines of a file out. */
import { createWriteStream, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type Line, work } from '../line.js';
import { eachLine } from '../lines-of-file.js';

/** Rows and bytes that a turn writes. */
function written(file: string): { rows: number; bytes: number } {
  const all = readFileSync(file, 'utf8').split('\n').slice(0, -1);
  return { rows: all.length, bytes: all.reduce((sum, one) => sum + Buffer.byteLength(work(one)) + 1, 0) };
}

export const fileLines: readonly Line[] = [
  {
    name: 'file in',
    connector: 'file',
    rows: 2_000_000,
    open: async () => ({ address: '', close: async () => {} }),
    plain: async ({ file, ready }) => {
      ready();
      await eachLine(file, (text) => void work(text));
    },
  },
  {
    name: 'file in and out',
    connector: 'file',
    rows: 2_000_000,
    open: async (folder, file) => {
      const path = join(folder, 'rows.out');
      const { rows, bytes } = written(file);
      return {
        address: path,
        sink: { type: 'file', props: { path, fileType: 'lines' } },
        begin: async () => rmSync(path, { force: true }),
        arrived: () => {
          const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
          return size >= bytes ? rows : Math.floor((size / bytes) * (rows - 1));
        },
        close: async () => {},
      };
    },
    plain: async ({ address, file, ready }) => {
      ready();
      const out = createWriteStream(address);
      await eachLine(file, (text) =>
        out.write(`${work(text)}\n`) ? undefined : new Promise<void>((resolve) => out.once('drain', resolve)),
      );
      await new Promise((resolve) => out.end(resolve));
    },
  },
];
