/** What all pages share: style sheet, script, and the search, which a page loads when somebody searches. */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { root } from '../root.mjs';

const folder = 'tools/guide/browser';

/** Returns the files, and their names by what they are. */
export async function assetFiles(index) {
  const { build } = await import('esbuild');
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: { guide: `${folder}/main.js`, search: `${folder}/search.js`, style: `${folder}/guide.css` },
    outdir: 'dist/docs/assets',
    bundle: true,
    // Pages are also files of a disk, from which browsers load no modules.
    format: 'iife',
    target: 'es2022',
    minify: true,
    legalComments: 'none',
    logLevel: 'warning',
    write: false,
  });
  const of = (ending) => outputFiles.find(({ path }) => path.endsWith(join('assets', ending)))?.contents;
  const contents = {
    script: ['guide.js', of('guide.js')],
    search: ['search.js', of('search.js')],
    style: ['style.css', of('style.css')],
    // A script and not a file of JSON, for the same reason.
    index: ['index.js', Buffer.from(`haumeaIndex(${JSON.stringify(index)})`)],
  };
  const files = Object.entries(contents).map(([what, [name, bytes]]) => [
    what,
    `assets/${hashedName(name, bytes)}`,
    Buffer.from(bytes),
  ]);
  return {
    names: Object.fromEntries(files.map(([what, name]) => [what, name])),
    contents: files.map(([, name, bytes]) => [name, bytes]),
  };
}

/** A name that changes with the content. */
function hashedName(name, bytes) {
  const hash = createHash('sha256').update(bytes).digest('hex').slice(0, 8);
  return name.replace(/(\.\w+)$/, `-${hash}$1`);
}
