/**
 * Makes the guide, dist/docs: static pages of the texts in docs/, of the functions and of the REST interface. All
 * addresses are relative, so that the folder works at any place, also as files of a disk.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { icon } from './build-console.mjs';
import { addressOf } from './guide/addresses.mjs';
import { assetFiles } from './guide/assets.mjs';
import { openHighlighter } from './guide/highlight.mjs';
import { layout, resolved } from './guide/layout.mjs';
import { renderPage } from './guide/markdown.mjs';
import { parts } from './guide/navigation.mjs';
import { searchIndex } from './guide/search-index.mjs';
import { root } from './root.mjs';
import { contentStamp } from './stamp.mjs';
import { withCompressed } from './static-files.mjs';

export const docsFolder = join(root, 'dist/docs');

/** A text that changes with what the guide is made of. */
export async function docsStamp() {
  return contentStamp('docs', 'examples', 'ARCHITECTURE.md', 'tools', 'package-lock.json');
}

/** Returns the files of the guide by name. `isThere` tells that a file is in place, with its compressed forms. */
export async function docsFiles(isThere) {
  const highlighter = await openHighlighter();
  const linked = new Set();
  const sources = ['ARCHITECTURE.md', ...markdownBelow('docs'), ...markdownBelow('examples')];
  const pages = await Promise.all(
    sources.map((source) => renderPage(source, readFileSync(join(root, source), 'utf8'), { highlighter, linked })),
  );
  for (const source of linked) {
    if (!sources.includes(source) && source !== 'README.md') pages.push(await sourcePage(source, highlighter));
  }
  const files = await assetFiles(searchIndex(pages));
  const nav = resolved(parts, new Map(pages.map(({ source, title }) => [source, title])));
  checkPlaces(nav, sources);
  const html = layout({ parts: nav, assets: files.names, icon });
  const all = new Map(files.contents);
  for (const page of pages) {
    const up = page.address.startsWith('decisions/') ? 'decisions/index.html' : undefined;
    all.set(page.address, Buffer.from(html({ ...page, up })));
  }
  highlighter.keep();
  return withCompressed(all, isThere, 9);
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
