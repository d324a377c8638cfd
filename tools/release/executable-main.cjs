/**
 * What the single executable runs: it unpacks the program once into a folder of the user, and goes on from there, so
 * that threads, WebAssembly and native packages are files as everywhere.
 */
const { chmodSync, existsSync, mkdirSync, renameSync, rmSync, writeFileSync } = require('node:fs');
const { createRequire } = require('node:module');
const { homedir } = require('node:os');
const { dirname, join, resolve, sep } = require('node:path');
const { getAsset } = require('node:sea');
const { gunzipSync } = require('node:zlib');

const name = getAsset('name', 'utf8');
const caches = process.env.HAUMEA_UNPACKED ?? join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'haumea');
const folder = join(caches, name);
if (!existsSync(folder)) unpack();

/** Writes beside the folder and gives it its name last: another start may do the same at once. */
function unpack() {
  const temporary = `${folder}.${process.pid}`;
  const all = gunzipSync(Buffer.from(getAsset('files')));
  const headEnd = all.indexOf(10);
  let at = headEnd + 1;
  for (const [path, size, mode] of JSON.parse(all.toString('utf8', 0, headEnd))) {
    const file = join(temporary, path);
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    writeFileSync(file, all.subarray(at, at + size));
    chmodSync(file, mode);
    at += size;
  }
  try {
    renameSync(temporary, folder);
  } catch (error) {
    rmSync(temporary, { recursive: true, force: true });
    if (!existsSync(folder)) throw error;
  }
}

// The program starts processes of itself: then a file of the folder follows the name of the executable.
const [program, , ...words] = process.argv;
const isOwnFile = words.length > 0 && /\.[cm]?js$/.test(words[0]) && resolve(words[0]).startsWith(folder + sep);
const [script, ...args] = isOwnFile ? words : [join(folder, 'app/bin/haumea.mjs'), ...words];
process.argv = [program, script, ...args];
createRequire(join(folder, 'start.cjs'))('./start.cjs')(script);
