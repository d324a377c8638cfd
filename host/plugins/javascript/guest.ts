/**
 * Code in the sandbox beside a script: takes the arguments of a batch, calls the function for each row, writes the
 * results.
 *
 * This code is evaluated before the script and takes its built-ins then, so a script that replaces prototypes,
 * `JSON` or iterators later changes what itself does, and nothing of how results are written: these are lists and
 * objects without a prototype that hold plain values alone.
 */

/** Longest text of an error, in characters. */
const maxErrorLength = 1024;
/** Deepest nesting of a result. */
const maxDepth = 100;
/** Longest line for the log, in characters. */
const maxLine = 4096;

/**
 * Text of an object `{ run, at, logTo }`. `run` is a function (call, text, blank, hasMarks, longest, ready) that
 * returns `[results, errors, hasMarks]` as JSON (see texts.ts); `blank` is the text of a list with a null for each row,
 * `errors` has rows and messages in turns, and no result is longer than `longest`. `ready` is called before they are
 * written. `at` is a buffer with the number of the row under way, so that the host knows it when a call is cut off.
 * `logTo` makes the function of scripts that writes lines out of one that takes a text.
 */
export const runnerText = `(() => {
  'use strict';
  const { parse, stringify } = JSON;
  const { isArray } = Array;
  const { defineProperty, getOwnPropertyDescriptor, getPrototypeOf, keys, setPrototypeOf } = Object;
  const { apply } = Reflect;
  const { fromCharCode } = String;
  const [Bytes, ErrorClass, Time, textOf, numberOf] = [Uint8Array, Error, Date, String, Number];
  const { charCodeAt, slice } = String.prototype;
  const { getTime } = Date.prototype;
  const lengthOf = getOwnPropertyDescriptor(getPrototypeOf(Uint8Array.prototype), 'length').get;
  const key = '\\0';
  const at = new Int32Array(1);

  const unmark = (value) => {
    if (value === null || typeof value !== 'object') return value;
    if (isArray(value)) {
      for (let i = 0; i < value.length; i++) value[i] = unmark(value[i]);
      return value;
    }
    if (key in value) return unmarked(value[key], value.v);
    const names = keys(value);
    for (let i = 0; i < names.length; i++) {
      const name = names[i];
      const item = unmark(value[name]);
      if (name[0] !== key) {
        value[name] = item;
        continue;
      }
      delete value[name];
      const own = { __proto__: null, value: item, writable: true, enumerable: true, configurable: true };
      defineProperty(value, apply(slice, name, [1]), own);
    }
    return value;
  };
  const unmarked = (kind, v) => {
    switch (kind) {
      case 'u': return undefined;
      case 'n': return numberOf(v);
      case 't': return new Time(v);
    }
    const bytes = new Bytes(v.length);
    for (let i = 0; i < bytes.length; i++) bytes[i] = apply(charCodeAt, v, [i]);
    return bytes;
  };

  let hasMarks = false;
  let refusal;
  const refuse = (text) => {
    refusal = { __proto__: null, text };
    throw refusal;
  };
  const marked = (kind, v) => {
    hasMarks = true;
    return { __proto__: null, [key]: kind, v };
  };
  let left = 0;
  let longest = 0;
  const tooLong = () => refuse('the result is longer than a value may be: ' + longest + ' bytes (maxValueBytes)');
  const plain = (value, depth) => {
    switch (typeof value) {
      case 'string': if ((left -= 8 + value.length) < 0) tooLong(); return value;
      case 'boolean': case 'undefined': if ((left -= 8) < 0) tooLong(); return value;
      case 'number': if ((left -= 8) < 0) tooLong(); return value - value === 0 ? value : marked('n', '' + value);
      case 'bigint': if ((left -= 8) < 0) tooLong(); return marked('i', '' + value);
      case 'object': if ((left -= 8) < 0) tooLong(); break;
      default: refuse('TypeError: a ' + typeof value + ' is no result');
    }
    if (value === null) return value;
    if (depth > ${maxDepth}) refuse('TypeError: the result is nested more than ${maxDepth} levels deep');
    if (isArray(value)) {
      const list = setPrototypeOf([], null);
      for (let i = 0; i < value.length; i++) list[i] = plain(value[i], depth + 1);
      return list;
    }
    if (value instanceof Time) {
      const time = apply(getTime, value, []);
      return time - time === 0 ? marked('t', time) : refuse('TypeError: an invalid Date is no result');
    }
    if (value instanceof Bytes) {
      const length = apply(lengthOf, value, []);
      if ((left -= length) < 0) tooLong();
      let text = '';
      for (let i = 0; i < length; i++) text += fromCharCode(value[i]);
      return marked('b', text);
    }
    const names = keys(value);
    const made = { __proto__: null };
    for (let i = 0; i < names.length; i++) {
      const name = names[i];
      left -= name.length;
      const item = plain(value[name], depth + 1);
      if (name[0] === key) hasMarks = true;
      made[name[0] === key ? key + name : name] = item;
    }
    return made;
  };
  const messageOf = (error) => {
    if (error === refusal) return error.text;
    try {
      const text = error instanceof ErrorClass ? error.name + ': ' + error.message : 'thrown: ' + textOf(error);
      return apply(slice, text, [0, ${maxErrorLength}]);
    } catch {
      return 'thrown: what has no text';
    }
  };

  let isRunning = false;
  const run = (call, text, blank, hasMarked, most, ready) => {
    if (isRunning) throw 'it runs';
    isRunning = true;
    const columns = hasMarked ? unmark(parse(text)) : parse(text);
    const results = parse(blank);
    const errors = setPrototypeOf([], null);
    const args = setPrototypeOf([], null);
    const width = columns.length;
    const a = width > 0 ? columns[0] : undefined;
    const b = width > 1 ? columns[1] : undefined;
    hasMarks = false;
    longest = most;
    let room = 4 * most;
    for (let k = 0; k < results.length; k++) {
      at[0] = k;
      try {
        let value;
        if (width === 1) value = call(a[k]);
        else if (width === 2) value = call(a[k], b[k]);
        else {
          for (let i = 0; i < width; i++) args[i] = columns[i][k];
          value = apply(call, undefined, args);
        }
        // Most are numbers and short texts.
        if (typeof value === 'number' ? value - value === 0 : typeof value === 'string' && value.length < 100) {
          results[k] = value;
          continue;
        }
        const given = room < most ? room : most;
        left = given;
        results[k] = plain(value, 0);
        room -= given - left;
      } catch (error) {
        results[k] = null;
        errors[errors.length] = k;
        errors[errors.length] = messageOf(error);
      }
    }
    ready();
    isRunning = false;
    return stringify(setPrototypeOf([setPrototypeOf(results, null), errors, hasMarks], null));
  };
  const exact = (name, item) => (typeof item === 'bigint' ? '' + item : item);
  const shown = (value) => {
    if (typeof value === 'string') return value;
    try {
      if (value instanceof ErrorClass) return messageOf(value);
      return '' + (stringify(value, exact) ?? '');
    } catch {
      return messageOf(value);
    }
  };
  const logTo = (send) => (...values) => {
    let line = '';
    for (let i = 0; i < values.length && line.length < ${maxLine}; i++) {
      line += (i > 0 ? ' ' : '') + apply(slice, shown(values[i]), [0, ${maxLine}]);
    }
    send(apply(slice, line, [0, ${maxLine}]));
  };
  return { run, at: at.buffer, logTo };
})()`;
