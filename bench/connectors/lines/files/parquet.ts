/** Parquet, both ways; the program writes groups of rows of the same size. */
import { createWriteStream, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects } from 'hyparquet';
import { ByteWriter, type ColumnSource, ParquetWriter, parquetWriteBuffer } from 'hyparquet-writer';
import { type Line, type Row, worked } from '../../line.js';
import { eachLine, endOf } from '../../lines-of-file.js';
import { fileOut } from './texts.js';

const rows = 500_000;
const groupRows = 50_000;
const names = ['id', 'device', 'temperature', 'humidity', 'status'] as const;

/** Reads the groups of a file one by one. */
async function eachGroup(path: string, take: (group: readonly Row[]) => void): Promise<void> {
  const file = await asyncBufferFromFile(path);
  const metadata = await parquetMetadataAsync(file);
  let rowStart = 0;
  for (const group of metadata.row_groups) {
    const rowEnd = rowStart + Number(group.num_rows);
    take(await parquetReadObjects({ file, metadata, rowStart, rowEnd }));
    rowStart = rowEnd;
  }
}

export const lines: readonly Line[] = [
  {
    name: 'parquet in',
    connectors: ['file'],
    rows,
    open: async (folder, file) => {
      const path = join(folder, 'rows.parquet');
      const all: Row[] = [];
      await eachLine(file, (text) => void all.push(JSON.parse(text)));
      const columnData: ColumnSource[] = names.map((name) => ({ name, data: all.map((row) => row[name]) }));
      writeFileSync(path, Buffer.from(parquetWriteBuffer({ columnData, rowGroupSize: groupRows })));
      const source = { type: 'file', dataSource: path, props: { fileType: 'parquet' } };
      return { address: path, source, close: async () => {} };
    },
    plain: async ({ address, ready }) => {
      void ready();
      await eachGroup(address, (group) => group.forEach(worked));
    },
  },
  {
    name: 'parquet out',
    connectors: ['file'],
    rows,
    open: async (folder) =>
      fileOut(join(folder, 'rows.parquet.out'), { fileType: 'parquet' }, async (path) => {
        const found: Row[] = [];
        await eachGroup(path, (group) => void found.push(...group));
        return found;
      }),
    plain: async ({ address, file, ready }) => {
      void ready();
      const bytes = new ByteWriter();
      const schema = [
        { name: 'root', num_children: 3 },
        { name: 'id', type: 'INT64', repetition_type: 'REQUIRED' },
        { name: 'device', type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type: 'REQUIRED' },
        { name: 'temperature', type: 'DOUBLE', repetition_type: 'REQUIRED' },
      ] as const;
      const writer = new ParquetWriter({ writer: bytes, schema: [...schema] });
      let group: Row[] = [];
      const write = async () => {
        await writer.write({
          columnData: [
            { name: 'id', data: group.map(({ id }) => BigInt(id as number)) },
            { name: 'device', data: group.map(({ device }) => device) },
            { name: 'temperature', data: group.map(({ temperature }) => temperature) },
          ],
        });
        group = [];
      };
      await eachLine(file, (text) => {
        const { id, device, temperature } = JSON.parse(text) as Row;
        group.push({ id, device, temperature });
        return group.length < groupRows ? undefined : write();
      });
      if (group.length > 0) await write();
      await writer.finish();
      const out = createWriteStream(address);
      out.write(Buffer.from(bytes.getBuffer()));
      await endOf(out);
    },
  },
];
