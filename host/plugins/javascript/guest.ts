/** What runs in the sandbox beside a script: takes the arguments of a batch, calls the function for each row. */

/**
 * Text of a function (text, count, hasMarks, ready) that returns `[results, errors, hasMarks]` as JSON; `errors` has rows and
 * messages in turns. `ready` is called before they are written. `at[0]` is the row under way, so that the host knows it when a call is cut off.
 */
export function batchText(entry: string): string {
  return `(() => {
  'use strict';
  const call = ${entry};
  const at = new Int32Array(1);
  const { parse, stringify } = JSON;
  const key = '\\0';
  const { isArray } = Array;
  const { entries, fromEntries } = Object;
  const unmark = (value) => {
    if (value === null || typeof value !== 'object') return value;
    if (isArray(value)) return value.map(unmark);
    if (!(key in value)) return fromEntries(entries(value).map(([name, item]) => [name, unmark(item)]));
    const { v } = value;
    switch (value[key]) {
      case 'u': return undefined;
      case 'n': return Number(v);
      case 't': return new Date(v);
      default: return Uint8Array.from(v, (c) => c.charCodeAt(0));
    }
  };
  let hasMarks = false;
  const marked = (kind, v) => {
    hasMarks = true;
    return { [key]: kind, v };
  };
  const mark = (value, depth) => {
    switch (typeof value) {
      case 'string': case 'boolean': case 'undefined': return value;
      case 'number': return value === value && value - value === 0 ? value : marked('n', String(value));
      case 'bigint': return Number(value);
      case 'object': break;
      default: throw new TypeError('a ' + typeof value + ' is no result');
    }
    if (value === null) return value;
    if (depth > 100) throw new TypeError('the result is nested more than 100 levels deep');
    if (isArray(value)) return value.map((item) => mark(item, depth + 1));
    if (value instanceof Date) return marked('t', value.getTime());
    if (value instanceof Uint8Array) {
      let text = '';
      for (const byte of value) text += String.fromCharCode(byte);
      return marked('b', text);
    }
    return fromEntries(entries(value).map(([name, item]) => [name, mark(item, depth + 1)]));
  };
  const run = (text, count, hasMarked, ready) => {
    const columns = hasMarked ? unmark(parse(text)) : parse(text);
    const [a, b] = columns;
    const results = new Array(count);
    const errors = [];
    const width = columns.length;
    hasMarks = false;
    for (let k = 0; k < count; k++) {
      at[0] = k;
      try {
        const value = width === 1 ? call(a[k])
          : width === 2 ? call(a[k], b[k])
          : call(...columns.map((column) => column[k]));
        results[k] = mark(value, 0);
      } catch (error) {
        errors.push(k, error instanceof Error ? error.name + ': ' + error.message : 'thrown: ' + String(error));
      }
    }
    ready();
    return stringify([results, errors, hasMarks]);
  };
  return { run, at: at.buffer };
})()`;
}
