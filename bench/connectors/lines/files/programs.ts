/** Rows that a program of a plugin prints, of a file that comes with it; the plain program runs it by node:wasi. */
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { zipOf } from '../../../../host/base/files/zip.js';
import { compileText } from '../../../../test/support/plugins/modules.js';
import { type Line, work } from '../../line.js';
import { eachLineOf } from '../../lines-of-file.js';

const rows = 100_000;

/** Prints the file `rows`, and waits for ever then. */
const printer = `
@external("wasi_snapshot_preview1", "path_open") declare function open(fd: i32, f: i32, path: i32, n: i32, how: i32, \
rights: i64, inherited: i64, flags: i32, out: i32): i32;
@external("wasi_snapshot_preview1", "fd_read") declare function read(fd: i32, parts: i32, n: i32, out: i32): i32;
@external("wasi_snapshot_preview1", "fd_write") declare function write(fd: i32, parts: i32, n: i32, out: i32): i32;
@external("wasi_snapshot_preview1", "poll_oneoff") declare function poll(from: i32, to: i32, n: i32, out: i32): i32;
memory.grow(2);
export function _start(): void {
  store<u32>(2000, 0x73776f72);
  open(3, 0, 2000, 4, 0, 2, 0, 0, 2008);
  const fd = load<i32>(2008);
  while (true) {
    store<i32>(2016, 65536); store<i32>(2020, 65536);
    if (read(fd, 2016, 1, 2024) != 0 || load<i32>(2024) == 0) break;
    store<i32>(2020, load<i32>(2024));
    write(1, 2016, 1, 2024);
  }
  memory.fill(3000, 0, 48);
  store<i64>(3024, 3600000000000);
  poll(3000, 3100, 1, 3200);
}`;

const runner = `
const { WASI } = require('node:wasi');
const { readFileSync } = require('node:fs');
const [, module, folder] = process.argv;
const wasi = new WASI({ version: 'preview1', preopens: { '/': folder } });
const instance = new WebAssembly.Instance(new WebAssembly.Module(readFileSync(module)), wasi.getImportObject());
wasi.start(instance);`;

export const lines: readonly Line[] = [
  {
    name: 'wasm in',
    connectors: ['wasm'],
    rows,
    open: async (folder, file) => {
      const address = join(folder, 'printer.wasm');
      const bytes = await compileText(printer);
      writeFileSync(address, bytes);
      const given = readFileSync(file);
      writeFileSync(join(folder, 'rows'), given);
      const archive = zipOf([
        { name: 'printer.wasm', bytes },
        { name: 'files/rows', bytes: given },
      ]);
      return {
        address,
        source: { type: 'wasm', dataSource: 'printer', props: {} },
        prepare: async (engine) => {
          await engine.call('POST', '/plugins/wasm', { name: 'printer', bytecode: archive.toString('base64') });
        },
        close: async () => {},
      };
    },
    plain: async ({ address, ready }) => {
      const args = ['--no-warnings', '-e', runner, address, dirname(address)];
      const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
      void ready();
      await eachLineOf(child.stdout, (text, n) => {
        work(text);
        if (n === rows) child.kill();
      });
    },
  },
];
