/** How values cross the border of a module: which values fit a type, and in which cells. */

import type { CellType } from '../../../../kernels/calls/cells.js';
import { Tag } from '../../../../kernels/gen/layouts.js';
import type { Convention, PluginFunction, PluginType } from '../../manifest.js';
import type { CallerKind, Lowered } from '../adapters/cell-caller.js';
import type { Signature, ValueType } from '../binary/types.js';

/** An argument. */
export interface LoweredArgument {
  readonly type: PluginType;
  readonly lowered: Lowered;
  readonly cell: CellType;
  /** Tag of values that fit without a check; -1: all are checked. */
  readonly usual: number;
  /** Whether the host makes the text of the value, as JSON. */
  readonly isMade: boolean;
}

export interface LoweredFunction {
  readonly args: readonly LoweredArgument[];
  readonly result: { readonly type: PluginType; readonly lowered: Lowered; readonly cell: CellType };
}

const usualTags: Partial<Record<PluginType, number>> = {
  bigint: Tag.i64,
  float: Tag.f64,
  boolean: Tag.bool,
  string: Tag.str,
  bytea: Tag.bytes,
  datetime: Tag.time,
};

const isJson = (type: PluginType) => type === 'array' || type === 'object' || type === 'any';

/**
 * Guests of the development kits get one text for all arguments: that of the only one where it is a text or bytes, else
 * JSON.
 */
export function hasPlainInput({ args }: PluginFunction): boolean {
  const [only] = args;
  return args.length === 1 && !only?.variadic && !only?.optional && (only?.type === 'string' || only?.type === 'bytea');
}

/**
 * `signature` is that of the export that takes the arguments; `skip` says how many of its parameters are none of them.
 */
export function lowered(fn: PluginFunction, convention: Convention, signature: Signature, skip = 0): LoweredFunction {
  let at = skip;
  const args = fn.args.map(({ type }): LoweredArgument => {
    const param = signature.params[at];
    const isMade = isJson(type);
    const how = fn.batch || convention === 'extism' ? wide(type) : lower(type, convention, param);
    at += how === 'span' ? 2 : 1;
    return { type, lowered: how, cell: cellOf(type, how), usual: how === 'i32' ? -1 : (usualTags[type] ?? -1), isMade };
  });
  const how =
    fn.batch || convention === 'extism' ? wide(fn.result) : lower(fn.result, convention, signature.results[0]);
  return { args, result: { type: fn.result, lowered: how, cell: cellOf(fn.result, how) } };
}

function lower(type: PluginType, convention: CallerKind, of: ValueType | undefined): Lowered {
  switch (type) {
    case 'bigint':
      return of === 'i32' ? 'i32' : 'i64';
    case 'float':
      return of === 'f32' ? 'f32' : 'f64';
    case 'boolean':
      return 'boolean';
    case 'datetime':
      return 'i64';
    default:
      if (convention !== 'assemblyscript') return 'span';
      return type === 'bytea' ? 'buffer' : 'string';
  }
}

/** As columns of cells have it. */
function wide(type: PluginType): Lowered {
  return lower(type, 'pointers', undefined);
}

function cellOf(type: PluginType, how: Lowered): CellType {
  if (how === 'string') return 'utf16';
  if (how === 'span' || how === 'buffer') return 'bytes';
  return type as CellType;
}

const tagNames: Readonly<Record<number, string>> = {
  [Tag.bool]: 'a boolean',
  [Tag.i64]: 'a bigint',
  [Tag.f64]: 'a float',
  [Tag.str]: 'a string',
  [Tag.bytes]: 'bytea',
  [Tag.time]: 'a datetime',
  [Tag.array]: 'an array',
  [Tag.object]: 'an object',
};

/** Bounds of int64 as doubles: the upper one is exclusive. */
const int64Bound = 2 ** 63;
const int32Bound = 2 ** 31;

/** Why a value of a tag can't be given to an argument; undefined when it can. `double` reads it as a number. */
export function misfit({ type, lowered: how }: LoweredArgument, tag: number, number: () => number): string | undefined {
  if (type === 'any') return undefined;
  const isWhole = tag === Tag.i64 || tag === Tag.bool;
  let fits: boolean;
  switch (type) {
    case 'bigint':
      if (tag === Tag.f64) {
        const value = number();
        if (Math.trunc(value) !== value) return `is no whole number, which a bigint needs`;
        if (value < -int64Bound || value >= int64Bound) return 'does not fit a bigint';
      }
      fits = isWhole || tag === Tag.f64;
      if (fits && how === 'i32' && tag !== Tag.bool) {
        const value = number();
        if (value < -int32Bound || value >= int32Bound) return 'does not fit i32';
      }
      break;
    case 'float':
      fits = tag === Tag.f64 || tag === Tag.i64;
      break;
    case 'bytea':
      fits = tag === Tag.bytes || tag === Tag.str;
      break;
    case 'array':
      fits = tag === Tag.array;
      break;
    case 'object':
      fits = tag === Tag.object;
      break;
    default:
      fits = tag === usualTags[type];
  }
  return fits ? undefined : `is ${tagNames[tag] ?? 'no value'}, not ${article(type)}`;
}

function article(type: PluginType): string {
  if (type === 'bytea') return type;
  return type === 'array' || type === 'object' ? `an ${type}` : `a ${type}`;
}
