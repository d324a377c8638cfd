/** Lines of a file in, lines of a file out. */
import { createWriteStream, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Arrivals } from '../../arrivals.js';
import { type Line, work } from '../../line.js';
import { eachLine, endOf, writeTo } from '../../lines-of-file.js';

const rows = 1_000_000;

export const lines: readonly Line[] = [
  {
    name: 'file in',
    connectors: ['file', 'nop'],
    rows,
    open: async () => ({ address: '', close: async () => {} }),
    plain: async ({ file, ready }) => {
      void ready();
      await eachLine(file, (text) => void work(text));
    },
  },
  {
    name: 'file in and out',
    connectors: ['file'],
    rows,
    open: async (folder, file) => {
      const path = join(folder, 'rows.out');
      const all = readFileSync(file, 'utf8').split('\n').slice(0, -1);
      const bytes = all.reduce((sum, one) => sum + Buffer.byteLength(work(one)) + 1, 0);
      return {
        address: path,
        sink: { type: 'file', props: { path, fileType: 'lines' } },
        begin: () => rmSync(path, { force: true }),
        arrived: () => {
          const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
          return size === bytes ? rows : Math.floor((size / bytes) * (rows - 1));
        },
        check: async () => {
          const arrivals = new Arrivals(rows);
          arrivals.begin(true);
          await eachLine(path, (text) => arrivals.take(text));
          arrivals.check();
        },
        close: async () => {},
      };
    },
    plain: async ({ address, file, ready }) => {
      void ready();
      const out = createWriteStream(address);
      await eachLine(file, (text) => writeTo(out, `${work(text)}\n`));
      await endOf(out);
    },
  },
];
