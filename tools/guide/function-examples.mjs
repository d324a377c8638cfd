/**
 * Examples of functions, as cases (`test/sql/cases/README.md` has their form). They stand in the comment of the
 * declaration, below `@example`, where the program does not read them: rows with the value of each, `row => value`; for
 * an aggregate the rows of a window and `=> value`; or a case that says all itself.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../root.mjs';

const index = join(root, 'host/functions/gen/index.ts');

/** Cases by the names of functions. `definitions` are those of the index, in its order. */
export function functionExamples(definitions) {
  const text = readFileSync(index, 'utf8');
  const paths = new Map(
    [...text.matchAll(/^import (\w+) from '\.\.\/(.+)\.js';$/gm)].map(([, id, path]) => [id, path]),
  );
  const [, list = ''] = /= \[\n(.*?)\n\];/s.exec(text) ?? [];
  const files = list.split(',').map((id) => paths.get(id.trim()));
  const examples = definitions.map(({ name, example }, i) => {
    const source = readFileSync(join(root, `host/functions/${files[i]}.ts`), 'utf8');
    return [name, caseOf(commentOf(source), example)];
  });
  return new Map(examples.filter(([, text]) => text !== undefined));
}

/** The lines below `@example` in the comment before the declaration. */
function commentOf(source) {
  const [, text] = /\n \* @example\n((?: \*.*\n)*?) \*\/\nexport default /.exec(source) ?? [];
  return text?.replace(/^ \* ?/gm, '').trim();
}

function caseOf(text, example) {
  if (text === undefined || /^(?:CREATE|rows|each) /.test(text)) return text;
  const lines = text.split('\n');
  const [, value] = /^=> (.*)$/.exec(lines.at(-1)) ?? [];
  if (value === undefined) return `each ${example}\n${text}`;
  const rows = lines.slice(0, -1);
  const sql = `SELECT ${example} AS r FROM demo GROUP BY COUNTWINDOW(${rows.length})`;
  return `rows demo\n${rows.join('\n')}\n\nquery ${example}\n${sql}\n----\n[{"r":${value}}]`;
}
