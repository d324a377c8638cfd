/**
 * Examples that the tests run (`test/sql/cases/README.md` has their form), as a reader sees them: what is defined, the
 * rows that come, the statement with a link that opens it in the playground of the console, and what comes out.
 */
import { posix } from 'node:path';
import { escaped } from './highlight.mjs';

const plainStream = 'CREATE STREAM demo () WITH (FORMAT="json")';
const begins = /^(CREATE|schema|rows|query|each|----|then)(?: |$)/;

/** Cuts an example into its parts: each has a word, what stands behind it, and the lines below. */
export function partsOf(text) {
  const parts = [];
  for (const line of text.split('\n').map((one) => one.trimEnd())) {
    const [, word] = begins.exec(line) ?? [];
    if (word === 'CREATE') parts.push({ word, head: '', lines: [line] });
    else if (word !== undefined) parts.push({ word, head: line.slice(word.length).trim(), lines: [] });
    else if (line !== '') parts.at(-1)?.lines.push(line);
  }
  return parts;
}

/** What the playground needs of each query of an example: undefined where a rule test can't show it. */
export function runsOf(parts) {
  const state = { streams: new Map(), rows: new Map() };
  const runs = new Map();
  for (const [i, { word, head, lines }] of parts.entries()) {
    if (word === 'CREATE') state.streams.set(/^CREATE\s+\w+\s+`?(\w+)/i.exec(lines[0])?.[1], lines.join('\n'));
    if (word === 'rows') state.rows.set(head, lines);
    if (word === 'query') runs.set(parts[i], runOf(parts, i, state));
    if (word === 'each') runs.set(parts[i], eachOf(parts[i], state));
  }
  return runs;
}

function runOf(parts, at, { streams, rows }) {
  const after = parts.slice(at + 1);
  const end = after.findIndex(({ word }) => word !== '----' && word !== 'then');
  const thens = (end < 0 ? after : after.slice(0, end)).filter(({ word }) => word === 'then');
  // A rule test has the clock of the server.
  if (thens.some(({ head }) => /\bat \d/.test(head))) return undefined;
  const { options, sql } = queryOf(parts[at].lines);
  const all = new Map([...rows].map(([name, lines]) => [name, [...lines]]));
  for (const { head, lines } of thens) all.set(head, [...(all.get(head) ?? []), ...lines]);
  return run(sql, streams, all, options);
}

function eachOf({ head, lines }, { streams }) {
  const [stream = 'demo'] = streams.keys();
  const rows = lines.map((line) => line.slice(0, line.lastIndexOf(' => ')));
  return run(`SELECT ${head} AS r FROM ${stream}`, streams, new Map([[stream, rows]]), {});
}

function run(sql, streams, rows, options) {
  const isPlain = [...streams.values()].every((text) => /^CREATE STREAM\b/i.test(text) && !/protobuf/i.test(text));
  const given = [...rows].map(([name, lines]) => [name, lines.map(parsed).filter((row) => row !== undefined)]);
  if (!isPlain || given.length === 0 || given.some(([, list]) => list.length === 0)) return undefined;
  const made = streams.size === 0 ? [plainStream] : [...streams.values()];
  return { sql, streams: made.map(inMemory), rows: Object.fromEntries(given), options };
}

/** Streams of examples say nothing of where rows come from: here they are those of a topic that nobody sends to. */
function inMemory(create) {
  if (/\bTYPE\s*=/i.test(create)) return create;
  const name = /^CREATE\s+STREAM\s+`?(\w+)/i.exec(create)?.[1];
  const at = create.lastIndexOf('(') + 1;
  const rest = create.slice(at);
  return `${create.slice(0, at)}TYPE="memory", DATASOURCE="guide/${name}"${/^\s*\)/.test(rest) ? '' : ', '}${rest}`;
}

function parsed(line) {
  try {
    const row = JSON.parse(line);
    return typeof row === 'object' && row !== null && !Array.isArray(row) ? row : undefined;
  } catch {
    return undefined;
  }
}

/** The statement of a query, and the lines of options and sink before it. */
function queryOf(lines) {
  const props = lines.filter((line) => /^(options|sink) \{/.test(line));
  const options = props.find((line) => line.startsWith('options '))?.slice('options '.length) ?? '{}';
  return { props, options: JSON.parse(options), sql: lines.filter((line) => !props.includes(line)).join('\n') };
}

/** The address of the playground with an example in it, from a page of the guide. */
export function playgroundLink(address, { sql, streams, rows, options = {} }) {
  const query = new URLSearchParams({ sql, streams: JSON.stringify(streams), rows: JSON.stringify(rows) });
  if (Object.keys(options).length > 0) query.set('options', JSON.stringify(options));
  return `${posix.relative(posix.dirname(`docs/${address}`), 'console')}/#/playground?${query}`;
}

/** The link itself; it says for which example it is to who hears links alone. */
export function runHtml(address, run, title) {
  if (run === undefined) return '';
  const about = title === '' ? '' : `<span class="hidden"> ${escaped(title)}</span>`;
  return `<a class="run" href="${escaped(playgroundLink(address, run))}">Run${about}</a>`;
}

/** The HTML of an example. */
export async function caseHtml(text, address, highlighter) {
  const parts = partsOf(text);
  const runs = runsOf(parts);
  const html = await Promise.all(parts.map((part) => partHtml(part, runs.get(part), address, highlighter)));
  return `<div class="code case">${html.join('')}</div>\n`;
}

async function partHtml({ word, head, lines }, run, address, highlighter) {
  const code = async (list, language) => {
    const html = await highlighter.html(list.join('\n'), language);
    return `<pre><code>${html}</code></pre>`;
  };
  const label = (words, more = '') => `<div class="name"><span>${escaped(words)}</span>${more}</div>`;
  switch (word) {
    case 'CREATE':
      return code(lines, 'sql');
    case 'schema':
      return label(`Schema ${head}`) + (await code(lines, 'text'));
    case 'rows':
      return label(`Rows of ${head}`) + (await code(lines, 'json'));
    case 'query': {
      const { props, sql } = queryOf(lines);
      const more = props.length === 0 ? '' : await code(props, 'json');
      return label(head, runHtml(address, run, head)) + more + (await code([sql], 'sql'));
    }
    case 'each':
      return label(head, runHtml(address, run, head)) + (await code(lines, 'json'));
    case 'then':
      return label(thenWords(head)) + (lines.length === 0 ? '' : await code(lines, 'json'));
    default:
      return label(head === '' ? 'Result' : `Result, ${head}`) + (await code(lines, 'json'));
  }
}

/** `telem at 45000`, `telem` or `at 60000` in words. */
function thenWords(head) {
  const [, stream, at] = /^(?:(?!at\b)(\w+))?(?: ?at (\d+))?$/.exec(head) ?? [];
  const when = at === undefined ? 'Then' : `At ${at} ms`;
  return stream === undefined ? `${when}, without rows` : `${when}, rows of ${stream}`;
}
