/** Texts of other forms: csv, and packed lines, both ways. */
import { createReadStream, createWriteStream, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable, Transform } from 'node:stream';
import { createGunzip, createGzip, gunzipSync, gzipSync } from 'node:zlib';
import { compress, decompress, init } from '@bokuweb/zstd-wasm';
import { Decompress } from 'fzstd';
import { Arrivals } from '../../arrivals.js';
import { type Line, type Plain, type Row, work, worked } from '../../line.js';
import { eachLine, eachLineOf, endOf, writeTo } from '../../lines-of-file.js';

const rows = 500_000;
const names = ['id', 'device', 'temperature', 'humidity', 'status'] as const;
await init();

/** Bytes that the programs pack at a time. */
const pieceBytes = 64 * 1024;

interface Packing {
  readonly name: 'gzip' | 'zstd';
  pack(bytes: Buffer): Uint8Array;
  unpack(bytes: Buffer): Uint8Array;
  /** What the programs read and write through. */
  reads(path: string): Readable;
  packs(): Transform;
}

async function* unzstd(path: string): AsyncGenerator<Buffer> {
  const ready: Buffer[] = [];
  const stream = new Decompress((part) => void ready.push(Buffer.from(part)));
  for await (const bytes of createReadStream(path)) {
    stream.push(bytes);
    yield* ready.splice(0);
  }
}

/** Makes a frame of each piece. */
function zstdPieces(): Transform {
  return new Transform({ transform: (piece: Buffer, _encoding, done) => done(null, compress(piece, 3)) });
}

const packings: readonly Packing[] = [
  {
    name: 'gzip',
    pack: (bytes) => gzipSync(bytes),
    unpack: (bytes) => gunzipSync(bytes),
    reads: (path) => createReadStream(path).pipe(createGunzip()),
    packs: () => createGzip(),
  },
  {
    name: 'zstd',
    pack: (bytes) => compress(bytes, 3),
    unpack: (bytes) => decompress(bytes),
    reads: (path) => Readable.from(unzstd(path)),
    packs: zstdPieces,
  },
];

/** A file that a rule writes: read when the rule has ended, as `linesIn` reads it. */
export function fileOut(path: string, props: object, linesIn: (path: string) => Promise<readonly Row[]>) {
  const arrivals = new Arrivals(rows);
  return {
    address: path,
    sink: { type: 'file', props: { path, ...props } },
    begin: (isChecked: boolean) => {
      rmSync(path, { force: true });
      arrivals.begin(isChecked);
    },
    written: async () => {
      arrivals.takeRows(await linesIn(path));
      return arrivals.count;
    },
    check: () => arrivals.check(),
    close: async () => {},
  };
}

function packedLines(packing: Packing): Line[] {
  const { name } = packing;
  return [
    {
      name: `${name} in`,
      connectors: ['file'],
      rows,
      open: async (folder, file) => {
        const path = join(folder, `rows.${name}`);
        writeFileSync(path, packing.pack(readFileSync(file)));
        const props = { fileType: 'lines', decompression: name };
        return { address: path, source: { type: 'file', dataSource: path, props }, close: async () => {} };
      },
      plain: async ({ address, ready }) => {
        void ready();
        await eachLineOf(packing.reads(address), (text) => void work(text));
      },
    },
    {
      name: `${name} out`,
      connectors: ['file'],
      rows,
      open: async (folder) =>
        fileOut(join(folder, `rows.${name}.out`), { fileType: 'lines', compression: name }, async (path) => {
          const found: Row[] = [];
          await eachLineOf(packing.reads(path), (text) => void found.push(JSON.parse(text)));
          return found;
        }),
      plain: async ({ address, file, ready }) => {
        void ready();
        const out = packing.packs();
        const last = out.pipe(createWriteStream(address));
        let piece = '';
        await eachLine(file, (text) => {
          piece += `${work(text)}\n`;
          if (piece.length < pieceBytes) return undefined;
          const full = piece;
          piece = '';
          return writeTo(out, full);
        });
        out.write(piece);
        await endOf(out, last);
      },
    },
  ];
}

async function rowsOfCsv(path: string): Promise<Row[]> {
  const found: Row[] = [];
  let columns: string[] | undefined;
  await eachLine(path, (text) => {
    const values = text.split(',');
    if (columns === undefined) columns = values;
    else found.push(Object.fromEntries(columns.map((name, i) => [name, values[i]])));
  });
  return found;
}

const csvLines: readonly Line[] = [
  {
    name: 'csv in',
    connectors: ['file'],
    rows,
    open: async (folder, file) => {
      const path = join(folder, 'rows.csv');
      const lines: string[] = [];
      await eachLine(file, (text) => {
        const row = JSON.parse(text) as Row;
        lines.push(names.map((name) => row[name]).join(','));
      });
      writeFileSync(path, `${names.join(',')}\n${lines.join('\n')}\n`);
      const props = { fileType: 'csv', hasHeader: true };
      return { address: path, source: { type: 'file', dataSource: path, props }, close: async () => {} };
    },
    plain: async ({ address, ready }) => {
      void ready();
      let columns: string[] | undefined;
      await eachLine(address, (text) => {
        const values = text.split(',');
        if (columns === undefined) columns = values;
        else worked(Object.fromEntries(columns.map((name, i) => [name, values[i]])));
      });
    },
  },
  {
    name: 'csv out',
    connectors: ['file'],
    rows,
    open: async (folder) => {
      const props = { fileType: 'csv', format: 'delimited', hasHeader: true };
      return fileOut(join(folder, 'rows.csv.out'), props, rowsOfCsv);
    },
    plain: async ({ address, file, ready }: Plain) => {
      void ready();
      const out = createWriteStream(address);
      out.write('id,device,temperature\n');
      await eachLine(file, (text) => {
        const { id, device, temperature } = JSON.parse(text) as Row;
        return writeTo(out, `${id},${device},${temperature}\n`);
      });
      await endOf(out);
    },
  },
];

export const lines: readonly Line[] = [...csvLines, ...packings.flatMap(packedLines)];
