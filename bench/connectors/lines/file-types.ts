/** Files of other types: csv and Parquet in, packed lines out. */
import { createWriteStream, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createGzip } from 'node:zlib';
import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects } from 'hyparquet';
import { type ColumnSource, parquetWriteBuffer } from 'hyparquet-writer';
import type { Line, Side } from '../line.js';
import { work } from '../line.js';
import { eachLine } from '../lines-of-file.js';

const rows = 500_000;
const names = ['id', 'device', 'temperature', 'humidity', 'status'] as const;

type Row = Record<(typeof names)[number], string | number>;

function rowsOf(file: string): Row[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .slice(0, -1)
    .map((text) => JSON.parse(text) as Row);
}

/** A file of the type beside that of the rows. */
function side(file: string, fileType: string, props: object, write: (path: string) => void): Side {
  const path = join(dirname(file), `rows.${fileType}`);
  write(path);
  return {
    address: path,
    source: { type: 'file', dataSource: path, props: { fileType, ...props } },
    close: async () => {},
  };
}

function written({ id, device, temperature }: Row): string {
  return JSON.stringify({ id, device, temperature });
}

export const fileTypeLines: readonly Line[] = [
  {
    name: 'csv in',
    connector: 'file',
    rows,
    open: async (_folder, file) =>
      side(file, 'csv', { hasHeader: true }, (path) => {
        const lines = rowsOf(file).map((row) => names.map((name) => row[name]).join(','));
        writeFileSync(path, `${names.join(',')}\n${lines.join('\n')}\n`);
      }),
    plain: async ({ address, ready }) => {
      ready();
      let columns: string[] | undefined;
      await eachLine(address, (text) => {
        const values = text.split(',');
        if (columns === undefined) columns = values;
        else written(Object.fromEntries(columns.map((name, i) => [name, values[i]])) as Row);
      });
    },
  },
  {
    name: 'parquet in',
    connector: 'file',
    rows,
    open: async (_folder, file) =>
      side(file, 'parquet', {}, (path) => {
        const all = rowsOf(file);
        const columnData: ColumnSource[] = names.map((name) => ({ name, data: all.map((row) => row[name]) }));
        writeFileSync(path, Buffer.from(parquetWriteBuffer({ columnData, rowGroupSize: 50_000 })));
      }),
    plain: async ({ address, ready }) => {
      ready();
      const file = await asyncBufferFromFile(address);
      const metadata = await parquetMetadataAsync(file);
      let rowStart = 0;
      for (const group of metadata.row_groups) {
        const rowEnd = rowStart + Number(group.num_rows);
        for (const row of await parquetReadObjects({ file, metadata, rowStart, rowEnd })) written(row as Row);
        rowStart = rowEnd;
      }
    },
  },
  {
    name: 'gzip out',
    connector: 'file',
    rows,
    open: async (folder) => {
      const path = join(folder, 'rows.gz');
      return {
        address: path,
        sink: { type: 'file', props: { path, compression: 'gzip' } },
        begin: async () => rmSync(path, { force: true }),
        close: async () => {},
      };
    },
    plain: async ({ address, file, ready }) => {
      ready();
      const out = createGzip();
      out.pipe(createWriteStream(address));
      await eachLine(file, (text) =>
        out.write(`${work(text)}\n`) ? undefined : new Promise<void>((resolve) => out.once('drain', resolve)),
      );
      await new Promise((resolve) => out.end(resolve));
    },
  },
];
