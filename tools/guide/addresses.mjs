/** Where the text of a file of the project stands in the guide. All addresses in pages are relative to the page. */
import { existsSync, statSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { root } from '../root.mjs';

/** The address of what a source becomes: a page, or the text of a file as it is. */
export function addressOf(source) {
  if (source === 'ARCHITECTURE.md') return 'architecture.html';
  const path = source.replace(/^docs\//, '');
  if (source.endsWith('README.md')) return path.replace(/README\.md$/, 'index.html');
  if (source.endsWith('.md')) return path.replace(/\.md$/, '.html');
  return `files/${source}.html`;
}

/**
 * The source that a link of a page leads to, and the place in it: `docs/sql.md` and `types`. `texts` has pages that may
 * be no files.
 */
export function targetOf(page, link, texts) {
  const [path, anchor = ''] = link.split('#');
  const source = path === '' ? page : posix.normalize(posix.join(dirname(page), path)).replace(/\/$/, '');
  if (texts.has(source)) return { source, anchor };
  const full = join(root, source);
  if (!existsSync(full)) throw new Error(`${page}: the link ${link} leads to no file`);
  if (!statSync(full).isDirectory()) return { source, anchor };
  if (!existsSync(join(full, 'README.md'))) throw new Error(`${page}: the folder of the link ${link} has no README.md`);
  return { source: `${source}/README.md`, anchor };
}

/** The way from one address of the guide to another. */
export function wayTo(from, to, anchor = '') {
  const path = from === to && anchor !== '' ? '' : posix.relative(posix.dirname(from), to);
  return anchor === '' ? path : `${path}#${anchor}`;
}
