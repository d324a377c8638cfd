/** Bundles the console into dist/console: hashed names, and each file also compressed as browsers take it. */
import { basename, join } from 'node:path';
import { root } from './root.mjs';
import { withCompressed } from './static-files.mjs';

/** Returns the files of the console by name. `isThere` tells that a file is in place, with its compressed forms. */
export async function consoleFiles(isThere) {
  const { build } = await import('esbuild');
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    entryPoints: { console: 'host/console/main.tsx' },
    outdir: 'dist/console',
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    assetNames: '[name]-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    target: 'es2022',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    minify: true,
    legalComments: 'none',
    logLevel: 'warning',
    metafile: true,
    write: false,
  });
  const files = new Map(outputFiles.map(({ path, contents }) => [basename(path), Buffer.from(contents)]));
  files.set('index.html', page(metafile));
  return withCompressed(files, isThere, { withBrotli: true });
}

/** The one page: its script, and what that imports at once, are fetched together. */
function page({ outputs }) {
  const [main] = Object.entries(outputs).find(([, { entryPoint }]) => entryPoint === 'host/console/main.tsx');
  const { imports, cssBundle } = outputs[main];
  const preloaded = imports.filter(({ kind }) => kind === 'import-statement').map(({ path }) => basename(path));
  const lines = [
    '<!doctype html>',
    '<html lang="en">',
    '<head>',
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="color-scheme" content="light dark">',
    '<title>Haumea</title>',
    `<link rel="icon" href="data:image/svg+xml,${encodeURIComponent(icon)}">`,
    `<link rel="stylesheet" href="${basename(cssBundle)}">`,
    ...preloaded.map((name) => `<link rel="modulepreload" href="${name}">`),
    `<script type="module" src="${basename(main)}"></script>`,
    '</head>',
    '<body><div id="app"></div><noscript>The console needs JavaScript.</noscript></body>',
    '</html>',
    '',
  ];
  return Buffer.from(lines.join('\n'));
}

export const icon = [
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">',
  '<ellipse cx="16" cy="16" rx="14" ry="9" fill="#3b6cf6" transform="rotate(-20 16 16)"/>',
  '<ellipse cx="12" cy="14" rx="4" ry="2.5" fill="#ff8a5c" transform="rotate(-20 12 14)"/></svg>',
].join('');

export const consoleFolder = join(root, 'dist/console');
