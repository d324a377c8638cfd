/** Builds dist/: the kernel by asc, the host by esbuild, the guide, and the files that they need beside them. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import { consoleFiles, consoleFolder } from './build-console.mjs';
import { docsFiles, docsFolder, docsSources } from './build-docs.mjs';
import { sdkFiles, sdkFolder } from './build-sdk.mjs';
import { joinStart } from './join-start.mjs';
import { root } from './root.mjs';
import { contentStamp, markCurrent, sourceStamp } from './stamp.mjs';

const dist = join(root, 'dist');
const kernel = join(root, 'kernels/build/haumea.wasm');
const kernelStamp = join(root, 'kernels/build/.stamp');
const docsStampFile = join(root, 'dist/.docs-stamp');

/** Bundles started as a process or thread of their own; each lazy `import()` becomes a chunk beside them. */
const entries = {
  main: 'host/main.ts',
  worker: 'host/run/plane/worker.ts',
  'planning-worker': 'host/run/planning/worker.ts',
  'snapshot-worker': 'host/meta/journal/snapshot-worker.ts',
  'yaml-worker': 'host/meta/transfer/yaml-worker.ts',
  'prepare-worker': 'host/plugins/wasm/prepare/worker.ts',
  'isolate-worker': 'host/plugins/wasm/isolate/worker.ts',
  'command-worker': 'host/plugins/wasm/command/worker.ts',
  'models-worker': 'host/plugins/library/models-worker.ts',
  'quickjs-worker': 'host/plugins/javascript/quickjs-worker.ts',
  'sqlite-worker': 'host/clients/sql/sqlite/worker.ts',
  'parquet-worker': 'host/connectors/file/reading/parquet/worker.ts',
};

/**
 * Packages loaded from node_modules when used: optional ones that may be missing, and large ones that few rules need at
 * once.
 */
const { optionalDependencies, version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const external = [
  ...Object.keys(optionalDependencies),
  '@platformatic/kafka',
  'bufferutil',
  'utf-8-validate',
  'undici',
  're2js',
  'croner',
  'protobufjs',
  'ipaddr.js',
  '@bokuweb/zstd-wasm',
  'quickjs-emscripten-core',
  '@jitl/quickjs-ng-wasmfile-release-sync',
];

/** What a start of the server loads, and what one of a data plane. */
const controlStart = {
  name: 'server',
  roots: ['host/cli/serve.ts', 'host/server.ts', 'host/run/engine.ts'],
  before: entries.main,
};
const planeStart = { name: 'plane', roots: [entries.worker] };

/** Name of the list of the files that the last build has made in a folder. */
const listOfMade = '.made';

/** The files of a build stay this long after the next one: a running server may still load them. */
const oldBuildMs = 3_600_000;

/** Builds kernel and host, whatever is current already. */
export async function buildAll() {
  const stamp = sourceStamp();
  const started = performance.now();
  await Promise.all([buildKernel(), buildHost(), buildConsole(), buildSdk(), buildDocs()]);
  copyAside();
  await writeQuickJs();
  markCurrent(stamp);
  console.error(`haumea: built in ${((performance.now() - started) / 1000).toFixed(1)} s`);
}

/** Compiles the kernel unless one of the same sources is there. */
export async function buildKernel() {
  if (!existsSync(join(root, 'assembly/index.ts'))) return;
  const wanted = contentStamp('assembly', 'asconfig.json', 'node_modules/assemblyscript/package.json');
  if (existsSync(kernel) && existsSync(kernelStamp) && readFileSync(kernelStamp, 'utf8') === wanted) return;
  mkdirSync(dirname(kernel), { recursive: true });
  // A temporary name, so that nobody loads a half-written kernel.
  const temporary = `kernels/build/haumea.${process.pid}.wasm`;
  const asc = join(root, 'node_modules/assemblyscript/bin/asc.js');
  // AS201 tells what would be wrong with addresses of 64 bits, which the kernel will not have.
  const target = ['--target', 'release', '--disableWarning', '201'];
  // With its own threads at work for hot functions Node may hang at the end (test/support/steady-options.ts).
  const options = ['--no-concurrent-recompilation', asc, 'assembly/index.ts', ...target, '--outFile', temporary];
  await command(process.execPath, options, 'asc');
  renameSync(join(root, temporary), kernel);
  writeFileSync(kernelStamp, wanted);
}

/**
 * One table of media types for all packages that bring one, only those with a character set or a usual file extension:
 * no answer of the server is of another, and every start would read them. As text, which is parsed several times faster
 * than code.
 */
const usualExtensions = new Set('bin css csv gz htm html js json mjs pdf png svg txt wasm xml yaml yml zip'.split(' '));

const mediaTypes = {
  name: 'media-types',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^mime-db$/ }, () => ({ path: join(root, 'node_modules/mime-db/db.json') }));
    onLoad({ filter: /[\\/]mime-db[\\/]db\.json$/ }, ({ path }) => {
      const all = Object.entries(JSON.parse(readFileSync(path, 'utf8')));
      const used = Object.fromEntries(
        all
          .filter(([, { extensions, charset }]) => extensions?.some((one) => usualExtensions.has(one)) || charset)
          .map(([type, { source, extensions, charset }]) => [type, { source, extensions, charset }]),
      );
      return { contents: `module.exports = JSON.parse(${JSON.stringify(JSON.stringify(used))});`, loader: 'js' };
    });
  },
};

/**
 * The router logs for its developers by a package of its own, the framework around it by Node.js (NODE_DEBUG): both do
 * by Node.js, and starts do not read the package. Others that log by it, as mqtt.js, have the package.
 */
const debugLog = {
  name: 'debug-log',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^debug$/ }, ({ importer }) =>
      importer.includes('/node_modules/@koa/router/') ? { path: 'debug', namespace: 'debug-log' } : undefined,
    );
    onLoad({ filter: /^debug$/, namespace: 'debug-log' }, () => ({
      contents: "export { debuglog as default } from 'node:util';",
      loader: 'js',
    }));
  },
};

/**
 * What starts do not read of the framework: warnings of packages to those who write against them, which Node.js logs as
 * well, cookies, of which the interface has none, and names of files to download, for which routes write the header.
 */
const replaced = {
  depd: `const { debuglog } = require('node:util');
module.exports = (name) => Object.assign(debuglog(name), { function: (called) => called, property: () => {} });`,
  cookies: 'module.exports = class {};',
  'content-disposition': "module.exports = () => { throw new Error('routes write Content-Disposition'); };",
};

const replacements = {
  name: 'replacements',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^(depd|cookies|content-disposition)$/ }, ({ path }) => ({ path, namespace: 'replaced' }));
    onLoad({ filter: /./, namespace: 'replaced' }, ({ path }) => ({ contents: replaced[path], loader: 'js' }));
  },
};

const plainText = /'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"/.source;
const docOfField = new RegExp(`\\.doc\\(\\s*(?:${plainText})(?:\\s*\\+\\s*(?:${plainText}))*\\s*,?\\s*\\)`, 'g');

/** Of the manifest of the package the program reads its version alone. */
const versionAlone = {
  name: 'version-alone',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]package\.json$/ }, ({ path }) =>
      path === join(root, 'package.json') ? { contents: JSON.stringify({ version }), loader: 'json' } : undefined,
    );
  },
};

const exampleOfFunction = new RegExp(`^  example: (?:${plainText}),\\n`, 'gm');

/**
 * Leaves out what fields of some files are for, and examples of functions. Pages of settings are made of the sources,
 * only the control plane tells what properties of connectors are for, and it has the examples in a file of their own.
 */
const withoutDocs = (filter) => ({
  name: 'without-docs',
  setup({ onLoad }) {
    onLoad({ filter }, ({ path }) => {
      const contents = readFileSync(path, 'utf8').replace(docOfField, '').replace(exampleOfFunction, '');
      if (/\.doc\(/.test(contents)) throw new Error(`${path}: the text of a doc() is no plain text`);
      return { contents, loader: 'ts' };
    });
  },
});
const settingsAndFunctions = /[\\/]host[\\/](?:base[\\/]config[\\/][^\\/]*-spec|functions[\\/].*)\.ts$/;
const filesWithFields = /[\\/]host[\\/].*\.ts$/;

/** Bundles the host: the control plane, the data plane, and what runs beside them. */
export async function buildHost() {
  const { main, worker, ...others } = entries;
  // A running server loads files of its own build, whatever is built meanwhile.
  const build = contentStamp('host', 'kernels', 'tools', 'package.json', 'package-lock.json').slice(0, 8);
  const [ofMain, ofWorker, ofOthers] = await Promise.all([
    bundle({ main }, `control-${build}`, withoutDocs(settingsAndFunctions)),
    // The data plane loads manifests of connectors by name, each a file of its own; all others read them in one piece.
    bundle({ worker }, `plane-${build}`, withoutDocs(filesWithFields)),
    bundle(others, `chunks-${build}`, withoutDocs(settingsAndFunctions)),
  ]);
  await Promise.all([
    joinStart(ofMain.files, ofMain.outputs, controlStart),
    joinStart(ofWorker.files, ofWorker.outputs, planeStart),
  ]);
  for (const { files } of [ofMain, ofWorker, ofOthers])
    for (const [path, text] of files) place(path, Buffer.from(text));
  prune(dist, (name) => !/^(?:control|plane|chunks)(?:-|$)/.test(name) || name.endsWith(`-${build}`));
}

/** Bundles the console. */
async function buildConsole() {
  placePages(consoleFolder, await consoleFiles(isThereIn(consoleFolder)));
}

/** Makes the guide, unless the one of the same sources is there. */
async function buildDocs() {
  const sources = await docsSources();
  if (existsSync(docsStampFile) && readFileSync(docsStampFile, 'utf8') === sources.stamp) return;
  placePages(docsFolder, await docsFiles(sources, isThereIn(docsFolder)));
  place(docsStampFile, Buffer.from(sources.stamp));
}

/** Tells that a file for browsers is in place with its compressed forms. */
const isThereIn = (folder) => (name, bytes) =>
  isPlaced(join(folder, name), bytes) && existsSync(join(folder, `${name}.gz`));

/** Places files for browsers; compressed forms come first: a file that is there has them. */
function placePages(folder, files) {
  for (const [name, bytes] of files.toReversed()) if (bytes !== undefined) place(join(folder, name), bytes);
  noteMade(folder, files);
  pruneBelow(folder, new Set([listOfMade, ...files.map(([name]) => name)].map((name) => join(folder, name))));
}

/** Notes what this build has made in a folder: a package has nothing else of it. */
function noteMade(folder, files) {
  place(join(folder, listOfMade), Buffer.from(files.map(([name]) => name).join('\n')));
}

/** Removes what is not wanted in a folder and those within: pages at once, what open pages may still load later. */
function pruneBelow(folder, wanted) {
  const isFolder = (name) => statSync(join(folder, name)).isDirectory();
  const isWanted = (name) => wanted.has(join(folder, name)) || isFolder(name);
  prune(folder, (name) => isWanted(name) || !name.includes('.html'), 0);
  prune(folder, isWanted);
  for (const name of readdirSync(folder).filter(isFolder)) pruneBelow(join(folder, name), wanted);
}

/** The client for programs, with its types. */
async function buildSdk() {
  const files = await sdkFiles();
  for (const [name, contents] of files) place(join(sdkFolder, name), contents);
  noteMade(sdkFolder, files);
}

/** Packages in the older module form call require() for builtins and look for their folder. */
const banner = [
  "import{createRequire as __cr}from'node:module';import{fileURLToPath as __fu}from'node:url';",
  'const require=__cr(import.meta.url),__filename=__fu(import.meta.url),__dirname=__fu(new URL(".",import.meta.url));',
].join('');

/** A hundred files are read at the start, and few have such packages; source maps count the line of the banner. */
function withoutIdleBanner(text) {
  const at = text.indexOf(banner);
  if (at < 0) return text;
  const code = text.slice(at + banner.length);
  return /\b(?:require|__filename|__dirname)\b/.test(code) ? text : text.slice(0, at) + code;
}

async function bundle(entryPoints, folder, docs) {
  const { build } = await import('esbuild');
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    entryPoints: Object.fromEntries(Object.entries(entryPoints).filter(([, path]) => existsSync(join(root, path)))),
    outdir: dist,
    outExtension: { '.js': '.mjs' },
    chunkNames: `${folder}/[name]-[hash]`,
    metafile: true,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    external,
    // Koa's assertions would bring an older release beside the one that all other code uses.
    alias: { 'http-errors': join(root, 'node_modules/http-errors') },
    plugins: [mediaTypes, debugLog, replacements, versionAlone, docs],
    minifySyntax: true,
    minifyWhitespace: true,
    sourcemap: 'linked',
    sourcesContent: false,
    legalComments: 'none',
    logLevel: 'warning',
    write: false,
    banner: { js: banner },
  });
  const textOf = ({ path, text }) => (path.endsWith('.mjs') ? withoutIdleBanner(text) : text);
  return { files: new Map(outputFiles.map((file) => [file.path, textOf(file)])), outputs: metafile.outputs };
}

/** Puts the files that the bundle reads at run time beside it. */
function copyAside() {
  place(join(dist, 'sql-wasm.wasm'), readFileSync(join(root, 'node_modules/sql.js/dist/sql-wasm.wasm')));
  if (existsSync(kernel)) place(join(dist, 'haumea.wasm'), readFileSync(kernel));
  place(join(dist, 'zone-names.txt'), readFileSync(join(root, 'host/functions/calendar/zone-names.txt')));
}

/** The engine for JavaScript with fuel, made by the bundle that would make it otherwise when it is first used. */
async function writeQuickJs() {
  const maker = join(dist, 'quickjs-worker.mjs');
  if (!existsSync(maker)) return;
  const worker = new Worker(maker);
  const [bytes] = await once(worker, 'message');
  await worker.terminate();
  place(join(dist, 'quickjs.wasm'), Buffer.from(bytes));
}

/** Writes a file in one step, and only when its content differs. */
function place(path, contents) {
  if (isPlaced(path, contents)) return;
  mkdirSync(dirname(path), { recursive: true });
  const temporary = `${path}.${process.pid}.tmp`;
  writeFileSync(temporary, contents);
  renameSync(temporary, path);
}

function isPlaced(path, contents) {
  return existsSync(path) && statSync(path).size === contents.length && readFileSync(path).equals(contents);
}

/** Removes what earlier builds made, and nobody has loaded for long. */
function prune(folder, isWanted, oldMs = oldBuildMs) {
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    if (!isWanted(name) && Date.now() - statSync(path).mtimeMs >= oldMs) {
      rmSync(path, { recursive: true, force: true });
    }
  }
}

function command(program, args, name) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd: root, stdio: ['ignore', 2, 2] });
    child.on('error', reject);
    child.on('exit', (code) => (code === 0 ? resolve() : reject(new Error(`${name} failed with exit code ${code}`))));
  });
}

if (process.argv[1] && pathToFileURL(process.argv[1]).href === import.meta.url) {
  await buildAll().catch((error) => {
    console.error(`haumea: ${error.message}`);
    process.exitCode = 1;
  });
}
