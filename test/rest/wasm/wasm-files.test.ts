/** Plugins whose archive has files: their modules read them below `/`, and nobody writes to them. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { startServer } from '../../support/harness.js';
import { compileText } from '../../support/plugins/modules.js';
import { RowsThrough } from '../../support/rest/rows-through.js';
import { writeZip } from '../../support/rest/zip-writer.js';

const server = await startServer({
  env: { KUIPER__PLUGIN__WASM__MAXFILES: '5', KUIPER__PLUGIN__WASM__MAXFILESBYTES: '100000' },
});
test.after(async () => {
  await server.stop();
});
const rule = new RowsThrough(server);

/** Opens one of three paths, and does one thing with it; results are numbers of errors, negative, or what it read. */
const reader = await compileText(`
@external("wasi_snapshot_preview1", "path_open") declare function open(fd: i32, f: i32, path: i32, n: i32, how: i32, \
rights: i64, inherited: i64, flags: i32, out: i32): i32;
@external("wasi_snapshot_preview1", "fd_read") declare function read(fd: i32, parts: i32, n: i32, out: i32): i32;
@external("wasi_snapshot_preview1", "fd_pread") declare function pread(fd: i32, parts: i32, n: i32, at: i64, \
out: i32): i32;
@external("wasi_snapshot_preview1", "fd_seek") declare function seek(fd: i32, by: i64, whence: i32, out: i32): i32;
@external("wasi_snapshot_preview1", "fd_close") declare function close(fd: i32): i32;
@external("wasi_snapshot_preview1", "fd_readdir") declare function list(fd: i32, at: i32, n: i32, from: i64, \
out: i32): i32;
@external("wasi_snapshot_preview1", "fd_write") declare function write(fd: i32, parts: i32, n: i32, out: i32): i32;
@external("wasi_snapshot_preview1", "path_filestat_get") declare function look(fd: i32, flags: i32, path: i32, n: i32, \
out: i32): i32;
@external("wasi_snapshot_preview1", "path_unlink_file") declare function unlink(fd: i32, path: i32, n: i32): i32;
@external("wasi_snapshot_preview1", "fd_prestat_get") declare function prestat(fd: i32, out: i32): i32;
memory.grow(1);
const paths = memory.data<u8>([
  0x61, 0x2e, 0x74, 0x78, 0x74, 0x2e, 0x2e, 0x2f, 0x61, 0x73, 0x75, 0x62, 0x2f, 0x2e, 0x2e, 0x2f, 0x73, 0x75, 0x62,
  0x2f, 0x62]);
function pathAt(which: i32): i32 {
  return i32(paths) + (which == 0 ? 0 : which == 1 ? 5 : 9);
}
function lengthOf(which: i32): i32 { return which == 0 ? 5 : which == 1 ? 4 : 12; }
function opened(which: i32, how: i32, rights: i64): i32 {
  const error = open(3, 0, pathAt(which), lengthOf(which), how, rights, 0, 0, 5000);
  return error == 0 ? load<i32>(5000) : -error;
}
function part(n: i32): void { store<i32>(5008, 6000); store<i32>(5012, n); }
export function begin(which: i32): i32 {
  const fd = opened(which, 0, 2);
  if (fd < 0) return fd;
  part(4);
  const error = read(fd, 5008, 1, 5016);
  close(fd);
  return error != 0 ? -error : load<i32>(5016) * 1000 + load<u8>(6000);
}
export function total(which: i32): i64 {
  const fd = opened(which, 0, 2);
  if (fd < 0) return fd;
  let all: i64 = 0;
  while (true) {
    part(4096);
    if (read(fd, 5008, 1, 5016) != 0 || load<i32>(5016) == 0) break;
    for (let i = 0, n = load<i32>(5016); i < n; i++) all += load<u8>(6000 + i);
  }
  close(fd);
  return all;
}
export function final(which: i32): i32 {
  const fd = opened(which, 0, 2);
  if (fd < 0) return fd;
  part(1);
  if (seek(fd, -1, 2, 5024) != 0) return -1;
  pread(fd, 5008, 1, load<i64>(5024), 5016);
  close(fd);
  return load<u8>(6000);
}
export function size_of(which: i32): i64 {
  const error = look(3, 0, pathAt(which), lengthOf(which), 11000);
  return error != 0 ? -error : load<i64>(11032);
}
export function listed(n: i32): i32 {
  if (list(3, 20000, n, 0, 5016) != 0) return -1;
  let count = 0;
  for (let at = 20000, end = 20000 + load<i32>(5016); at + 24 <= end; count++) at += 24 + load<i32>(at + 16);
  return count;
}
export function is_root(fd: i32): i32 { return prestat(fd, 5000); }
export function changed(what: i32): i32 {
  if (what == 0) return opened(0, 9, 64);
  if (what == 1) return -unlink(3, pathAt(0), 5);
  const fd = opened(0, 0, 2);
  part(4);
  const error = write(fd, 5008, 1, 5016);
  close(fd);
  return -error;
}
export function flooded(n: i32): i32 {
  let most = 0;
  for (let i = 0; i < n; i++) { const fd = opened(0, 0, 2); if (fd < 0) return fd; most = fd; }
  return most;
}`);

const big = Buffer.alloc(50_000, 7);
const archive = writeZip([
  { name: 'reader.wasm', content: Buffer.from(reader) },
  { name: 'files/a.txt', content: 'hello' },
  { name: 'files/sub/b', content: big },
  { name: 'files/other.wasm', content: 'no module' },
]).toString('base64');

test('a module reads the files of its archive, and lists them', async () => {
  const made = await server.request('POST', '/plugins/wasm', { name: 'reader', bytecode: archive });
  assert.is(made.status, 201, made.text);
  const { files } = (await server.request('GET', '/plugins/wasm/reader')).json;
  assert.equal(files, [
    { path: 'a.txt', sizeBytes: 5 },
    { path: 'sub/b', sizeBytes: 50_000 },
    { path: 'other.wasm', sizeBytes: 9 },
  ]);
  const select = `SELECT begin(v) AS f, total(v) AS s, final(v) AS l, size_of(v) AS n, listed(v * 10 + 200) AS e,
    is_root(3 + v) AS r FROM s`;
  assert.equal(await rule.results(select, [{ v: 0 }, { v: 2 }]), [
    { f: 4104, s: 532, l: 111, n: 5, e: 5, r: 0 },
    { f: 4007, s: 350_000, l: 7, n: 50_000, e: 5, r: 8 },
  ]);
});

test('nothing above the files is reached, nothing is written, and descriptors are bounded', async () => {
  const select = 'SELECT begin(1) AS up, changed(0) AS made, changed(1) AS gone, changed(2) AS written FROM s';
  assert.equal(await rule.results(select, [{ v: 0 }]), [{ up: -76, made: -69, gone: -69, written: -8 }]);
  assert.equal(await rule.results('SELECT flooded(v) AS n FROM s', [{ v: 100 }, { v: 300 }]), [{ n: 103 }, { n: -33 }]);
});

test('an export brings them back, also to a plugin on a thread of its own', async () => {
  const { nativePlugins } = (await server.request('GET', '/data/export')).json;
  const { bytecode } = JSON.parse(nativePlugins.wasm_reader);
  const again = await server.request('PUT', '/plugins/wasm/reader', { name: 'reader', bytecode, isolate: true });
  assert.is(again.status, 200, again.text);
  assert.equal(await rule.results('SELECT total(v) AS s FROM s', [{ v: 2 }]), [{ s: 350_000 }]);
});

test('files beyond the bounds are refused with the name of the file and of the setting', async () => {
  const module = { name: 'reader.wasm', content: Buffer.from(reader) };
  const refusal = async (items: Parameters<typeof writeZip>[0]) => {
    const bytecode = writeZip([module, ...items]).toString('base64');
    const { status, json } = await server.request('POST', '/plugins/wasm', { name: 'much', bytecode });
    assert.is(status, 400);
    return json.message;
  };
  const six = Array.from({ length: 6 }, (_, i) => ({ name: `files/${i}`, content: 'x' }));
  assert.match(await refusal(six), /files\/5 is one of more than 5 files below files\/ \(plugin\.wasm\.maxFiles\)/);
  const long = { name: 'files/long', content: Buffer.alloc(60_000) };
  assert.match(
    await refusal([long, { ...long, name: 'files/more' }]),
    /with files\/more the files below files\/ have 120000 bytes, at most 100000 .*plugin\.wasm\.maxFilesBytes/,
  );
});

test.run();
