/**
 * Makes the guide, dist/docs: static pages of the texts in docs/, of the functions and of the REST interface. All
 * addresses are relative, so that the folder works at any place, also as files of a disk.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { icon } from './build-console.mjs';
import { addressOf } from './guide/addresses.mjs';
import { apiPages } from './guide/api-pages.mjs';
import { assetFiles } from './guide/assets.mjs';
import { readCatalogue } from './guide/catalogue.mjs';
import { functionPages } from './guide/function-pages.mjs';
import { openHighlighter } from './guide/highlight.mjs';
import { layout, resolved } from './guide/layout.mjs';
import { renderPage } from './guide/markdown.mjs';
import { parts } from './guide/navigation.mjs';
import { searchIndex } from './guide/search-index.mjs';
import { root } from './root.mjs';
import { contentStamp } from './stamp.mjs';
import { withCompressed } from './static-files.mjs';

export const docsFolder = join(root, 'dist/docs');

/** What the guide is made of: what the sources declare, and a text that changes with that and with all texts. */
export async function docsSources() {
  const catalogue = await readCatalogue();
  const declared = createHash('sha256').update(JSON.stringify(catalogue)).digest('hex');
  const texts = contentStamp('docs', 'examples', 'ARCHITECTURE.md', 'tools', 'package-lock.json');
  return { catalogue, stamp: declared + texts };
}

/** Returns the files of the guide by name. `isThere` tells that a file is in place, with its compressed forms. */
export async function docsFiles({ catalogue }, isThere) {
  const highlighter = await openHighlighter();
  const sources = ['ARCHITECTURE.md', ...markdownBelow('docs'), ...markdownBelow('examples')];
  const texts = new Map([
    ...sources.map((source) => [source, readFileSync(join(root, source), 'utf8')]),
    ...functionPages(catalogue.functions),
    ...apiPages(catalogue.api),
  ]);
  const context = { highlighter, linked: new Set(), texts };
  const pages = await Promise.all([...texts].map(([source, text]) => renderPage(source, text, context)));
  for (const source of context.linked) if (!texts.has(source)) pages.push(await sourcePage(source, highlighter));
  const files = await assetFiles(searchIndex(pages));
  const nav = resolved(parts, new Map(pages.map(({ source, title }) => [source, title])));
  checkPlaces(nav, sources);
  const html = layout({ parts: nav, assets: files.names, icon });
  const all = new Map(files.contents);
  for (const page of pages) all.set(page.address, Buffer.from(html({ ...page, up: above(page.address) })));
  highlighter.keep();
  // Brotli would make an image larger by a hundredth, for a few bytes of each page.
  return withCompressed(all, isThere, { withBrotli: false });
}

/** The page of the navigation that a page without a place there belongs to. */
function above(address) {
  const [folder] = address.split('/');
  if (folder === 'functions') return 'functions.html';
  return folder === 'decisions' || folder === 'api' ? `${folder}/index.html` : undefined;
}

function markdownBelow(folder) {
  return readdirSync(join(root, folder), { recursive: true })
    .map((name) => `${folder}/${name.replaceAll('\\', '/')}`)
    .filter((name) => name.endsWith('.md') && !name.includes('node_modules'))
    .sort();
}

/** The text of a file that a page links to. */
async function sourcePage(source, highlighter) {
  const text = readFileSync(join(root, source), 'utf8').replace(/\n$/, '');
  const ending = /\.(\w+)$/.exec(source)?.[1] ?? '';
  const language = { rs: 'rust', mjs: 'js', yml: 'yaml' }[ending] ?? ending;
  const html = await highlighter.html(text, language);
  return {
    source,
    address: addressOf(source),
    title: source,
    headings: [],
    sections: [],
    html: `<h1>${source}</h1>\n<div class="code"><pre><code>${html}</code></pre></div>\n`,
  };
}

/** Each page of docs/ has a place in the navigation, but decisions, which their index lists. */
function checkPlaces(nav, sources) {
  const placed = new Set(nav.flatMap(({ pages }) => pages.map(({ source }) => source)));
  const without = sources.filter(
    (source) => /^docs\//.test(source) && !/^docs\/decisions\/\d/.test(source) && !placed.has(source),
  );
  if (without.length > 0) throw new Error(`${without.join(', ')}: no place in tools/guide/navigation.mjs`);
}
