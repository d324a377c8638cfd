/**
 * Checks the pages for readers: links and anchors lead somewhere, paths that a page names are there, lines are short,
 * README is one page. `npm run check` runs it; `node tools/docs.mjs FOLDER` checks the pages of another folder.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { slugger } from './anchors.mjs';
import { root } from './root.mjs';

const widest = 120;
const readmeLines = 60;

/** Folders that hold no sources, in which names of paths are not looked for. */
const skipped = new Set(['node_modules', 'dist', '.git', 'data']);

/** Paths of all files and folders below a folder, folders without a slash at the end. */
function pathsBelow(folder, prefix = '') {
  return readdirSync(join(folder, prefix), { withFileTypes: true })
    .filter(({ name }) => !skipped.has(name))
    .flatMap((entry) => {
      const path = prefix + entry.name;
      return entry.isDirectory() ? [path, ...pathsBelow(folder, `${path}/`)] : [path];
    });
}

/** Lines of a page with their numbers; `isProse` is false within code fences and tables. */
function linesOf(text) {
  let isCode = false;
  return text.split('\n').map((line, i) => {
    const isFence = /^\s*(```|~~~)/.test(line);
    if (isFence) isCode = !isCode;
    return { line, number: i + 1, isCode: isCode || isFence, isProse: !isCode && !isFence && !/^\s*\|/.test(line) };
  });
}

/** Anchors of the headings. */
function anchorsOf(text) {
  const nameOf = slugger();
  const anchors = new Set();
  for (const { line, isCode } of linesOf(text)) {
    const [, heading] = /^#{1,6}\s+(.*?)\s*#*$/.exec(line) ?? [];
    if (heading !== undefined && !isCode) anchors.add(nameOf(heading));
  }
  return anchors;
}

/** Links that lead nowhere: a file that is missing, or an anchor that no heading of the page has. */
function deadLinks(folder, page, text) {
  const faults = [];
  for (const { line, number, isCode } of linesOf(text)) {
    if (isCode) continue;
    const prose = line.replace(/`[^`]*`/g, (code) => ' '.repeat(code.length));
    for (const [, inline, named] of prose.matchAll(/\]\(([^)\s]+)\)|^ *\[[^\]]+\]: +(\S+)/g)) {
      const target = inline ?? named;
      if (/^[a-z]+:/.test(target)) continue;
      const [path, anchor] = target.split('#');
      const file = path === '' ? join(folder, page) : join(folder, dirname(page), path);
      if (!existsSync(file)) faults.push(`${page}:${number}: the link ${target} leads to no file`);
      else if (anchor !== undefined && file.endsWith('.md') && !anchorsOf(readFileSync(file, 'utf8')).has(anchor))
        faults.push(`${page}:${number}: the link ${target} leads to no heading`);
    }
  }
  return faults;
}

/** The pattern of a path with `<name>` and `*` for any name, from a folder of the project or from within one. */
function patternOf(path) {
  const parts = path.replace(/\/$/, '').split(/(<[^>]*>|\*)/);
  const text = parts.map((part, i) => (i % 2 === 1 ? '[^/]+' : part.replace(/[.+?^${}()|[\]\\]/g, '\\$&')));
  return new RegExp(`(^|/)${text.join('')}$`);
}

/** Paths in back-quotes that are not there. `isAnywhere`: also those that begin within a folder of the project. */
function missingPaths(page, text, paths, isAnywhere) {
  const top = new Set(paths.filter((path) => !path.includes('/')));
  const faults = [];
  for (const { line, number, isCode } of linesOf(text)) {
    if (isCode) continue;
    for (const [, name] of line.matchAll(/`([\w.@*<>/-]+)`/g)) {
      const isFile = /\.(ts|mjs|json|md)$/.test(name);
      const fromTop = top.has(name.split('/')[0]) && name.includes('/');
      if (!(fromTop || (isAnywhere && (isFile || (name.includes('/') && !name.startsWith('/')))))) continue;
      const pattern = patternOf(name);
      if (!paths.some((path) => pattern.test(path))) faults.push(`${page}:${number}: ${name} is not there`);
    }
  }
  return faults;
}

function longLines(page, text) {
  return linesOf(text)
    .filter(({ line, isProse }) => isProse && [...line].length > widest)
    .map(({ line, number }) => `${page}:${number}: ${[...line].length} characters, ${widest} at most`);
}

/** Faults in the pages of a folder, one line each. */
export function faultsOf(folder) {
  const paths = pathsBelow(folder);
  const pages = paths.filter((path) => path.endsWith('.md'));
  return pages.flatMap((page) => {
    const text = readFileSync(join(folder, page), 'utf8');
    const isMap = page === 'ARCHITECTURE.md' || page === 'docs/adding.md';
    // Decisions name files of their time, pages of tests those of other projects.
    const namesOthers = /^(docs\/decisions|test)\//.test(page);
    const faults = [...deadLinks(folder, page, text), ...longLines(page, text)];
    if (!namesOthers) faults.push(...missingPaths(page, text, paths, isMap));
    const lines = text.trimEnd().split('\n').length;
    if (page === 'README.md' && lines >= readmeLines)
      faults.push(`${page}: ${lines} lines, under ${readmeLines} wanted`);
    return faults;
  });
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const folder = process.argv[2] ?? root;
  const faults = faultsOf(folder);
  for (const fault of faults) console.log(relative(process.cwd(), folder) === '' ? fault : join(folder, fault));
  process.exitCode = faults.length === 0 ? 0 : 1;
}
