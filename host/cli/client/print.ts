/** Readable output: tables, lists, lines of name and value. */
import { isObject } from '../../base/structures/is-object.js';

/** Prints rows as columns below their names; cells of other kinds than texts are shown as JSON. */
export function table(rows: readonly Readonly<Record<string, unknown>>[], columns?: readonly string[]): string {
  const names = columns ?? [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const lines = [names.map((name) => name.toUpperCase()), ...rows.map((row) => names.map((name) => cell(row[name])))];
  const widths = names.map((_, i) => Math.max(...lines.map((line) => (line[i] as string).length)));
  return lines
    .map(
      (line) =>
        `${line
          .map((text, i) => text.padEnd(widths[i] as number))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('');
}

/** Prints members one a line, their values in one column. */
export function members(object: Readonly<Record<string, unknown>>): string {
  const names = Object.keys(object);
  const width = Math.max(0, ...names.map((name) => name.length)) + 2;
  return names
    .map((name) => {
      const text = typeof object[name] === 'object' ? nested(object[name]) : cell(object[name]);
      return `${`${name}:`.padEnd(width)}${text.replaceAll('\n', `\n${' '.repeat(width)}`)}`.trimEnd().concat('\n');
    })
    .join('');
}

/** Prints any JSON value in the form that suits it. */
export function readable(value: unknown): string {
  if (Array.isArray(value)) {
    if (value.length === 0) return '(none)\n';
    if (value.every(isObject)) return table(value);
    return value.map((item) => `${cell(item)}\n`).join('');
  }
  if (!isObject(value)) return `${cell(value)}\n`;
  return Object.keys(value).length === 0 ? '(none)\n' : members(value);
}

/** Short values stay on the line. */
function nested(value: unknown): string {
  const short = JSON.stringify(value);
  return short.length <= 80 ? cell(value) : JSON.stringify(value, null, 2);
}

function cell(value: unknown): string {
  if (value === undefined || value === null) return '';
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
  return text.replace(/\r?\n/g, typeof value === 'string' ? '\n' : ' ');
}
