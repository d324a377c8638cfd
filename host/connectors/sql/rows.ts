/** The rows of a message, each with its text: numbers keep all their digits there. */
import { readExactJson, writeExactJson } from '../../base/text/exact-json.js';
import { sqlErrors } from './errors.js';

export type RowKind = 'insert' | 'update' | 'upsert' | 'delete';

export interface SqlRow {
  readonly kind: RowKind;
  /** JSON of the whole row. */
  readonly text: string;
  readonly members: Readonly<Record<string, unknown>>;
  /** Members that are written, in the order of the row. */
  readonly names: readonly string[];
}

export interface RowForm {
  fields: readonly string[] | undefined;
  rowkindField: string;
  keyField: string;
}

const kinds = new Set<unknown>(['insert', 'update', 'upsert', 'delete']);

/** Reads the rows of messages. */
export class RowReader {
  /** Names of the last row: most rows have the same. */
  #names: readonly string[] = [];

  constructor(readonly form: RowForm) {}

  /** Reads a message: a row or a list of rows. Throws for one that is neither; bad rows are left to `refused`. */
  read(text: string, refused: (row: string, reason: string) => void): SqlRow[] {
    const texts = text.startsWith('{') ? [text] : /^\s*\[/.test(text) ? itemsOf(text) : [text];
    return texts.flatMap((one) => {
      const members = objectOf(one);
      try {
        return this.#row(one, members);
      } catch (error) {
        refused(one, (error as Error).message);
        return [];
      }
    });
  }

  #row(text: string, members: Readonly<Record<string, unknown>>): SqlRow {
    const { keyField, rowkindField, fields } = this.form;
    const kind = kindOf(members, rowkindField);
    const names = kind === 'delete' ? [keyField] : (fields ?? this.#namesOf(members));
    if (names.length === 0) throw sqlErrors.noMembers();
    if (kind !== 'insert' && (members[keyField] === undefined || members[keyField] === null)) {
      throw sqlErrors.noKey(keyField);
    }
    return { kind, text, members, names };
  }

  #namesOf(members: Readonly<Record<string, unknown>>): readonly string[] {
    const names = Object.keys(members);
    if (!isSameList(names, this.#names)) this.#names = names;
    return this.#names;
  }
}

export function isSameList(one: readonly string[], other: readonly string[]): boolean {
  return one === other || (one.length === other.length && one.every((name, i) => name === other[i]));
}

/** The kind of change; rows without one are inserted. */
function kindOf(members: Readonly<Record<string, unknown>>, name: string): RowKind {
  const kind = name === '' ? undefined : members[name];
  if (kind === undefined) return 'insert';
  if (kinds.has(kind)) return kind as RowKind;
  throw sqlErrors.kind(name, writeExactJson(kind));
}

function objectOf(text: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = readExactJson(text);
  } catch {
    value = undefined;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw sqlErrors.noObject();
  return value as Record<string, unknown>;
}

/** The texts of the items of a list. */
function itemsOf(text: string): string[] {
  const items: string[] = [];
  const token = /"(?:[^"\\]|\\.)*"|[[\]{},]/g;
  token.lastIndex = text.indexOf('[') + 1;
  let from = token.lastIndex;
  let depth = 0;
  for (let match = token.exec(text); match !== null; match = token.exec(text)) {
    const [sign] = match;
    if (sign === '[' || sign === '{') depth++;
    else if (depth === 0 && (sign === ',' || sign === ']')) {
      items.push(text.slice(from, match.index));
      from = token.lastIndex;
      if (sign === ']') return items.length === 1 && items[0]!.trim() === '' ? [] : items;
    } else if (sign === ']' || sign === '}') depth--;
  }
  throw sqlErrors.noObject();
}
